# Prints each symbol as it stands in the list.
{ print name_in_list($0) }
