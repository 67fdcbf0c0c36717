//! `#[derive(Compact)]`: implements the compact encoding of `martlet_sbi::compact`, independent of
//! the type's serde attributes.
use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Data, DeriveInput, Error, Fields, Index, Type, parse_macro_input, parse_quote};

/// Implements `martlet_sbi::compact::Compact` for a struct, or for an enumeration of up to 255
/// variants.
#[proc_macro_derive(Compact)]
pub fn compact(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    implementation(input).unwrap_or_else(Error::into_compile_error).into()
}

fn implementation(mut input: DeriveInput) -> Result<TokenStream, Error> {
    for parameter in input.generics.type_params_mut() {
        parameter.bounds.push(parse_quote!(::martlet_sbi::compact::Compact));
    }
    let (write, read) = match &input.data {
        Data::Struct(data) => {
            let access = |n: usize, name: &Option<syn::Ident>| match name {
                Some(name) => quote!(&self.#name),
                None => {
                    let n = Index::from(n);
                    quote!(&self.#n)
                }
            };
            let values =
                data.fields.iter().enumerate().map(|(n, field)| access(n, &field.ident)).collect();
            (write_fields(&data.fields, values), read_fields(&data.fields, quote!(Self)))
        }
        Data::Enum(data) => {
            if data.variants.len() > 255 {
                return Err(Error::new_spanned(
                    &input.ident,
                    "Compact supports at most 255 variants",
                ));
            }
            let mut writes = Vec::new();
            let mut reads = Vec::new();
            for (number, variant) in (0..=u8::MAX).zip(&data.variants) {
                let name = &variant.ident;
                let values: Vec<_> =
                    (0..variant.fields.len()).map(|n| format_ident!("value_{n}")).collect();
                let pattern = match &variant.fields {
                    Fields::Named(named) => {
                        let names = named.named.iter().map(|field| &field.ident);
                        quote!(Self::#name { #(#names: #values),* })
                    }
                    Fields::Unnamed(_) => quote!(Self::#name(#(#values),*)),
                    Fields::Unit => quote!(Self::#name),
                };
                let content = (!values.is_empty()).then(|| {
                    write_fields(
                        &variant.fields,
                        values.iter().map(|value| quote!(#value)).collect(),
                    )
                });
                writes.push(quote!(#pattern => { out.push(#number); #content }));
                let read = match &variant.fields {
                    Fields::Unit => quote!(Ok(Self::#name)),
                    fields => read_fields(fields, quote!(Self::#name)),
                };
                reads.push(quote!(#number => { #read }));
            }
            let what = format!("invalid variant of {}", input.ident);
            (
                quote!(match self { #(#writes)* }),
                quote!(match from.byte()? {
                    #(#reads)*
                    _ => Err(::martlet_sbi::compact::Error::new(#what)),
                }),
            )
        }
        Data::Union(_) => {
            return Err(Error::new_spanned(&input.ident, "Compact does not support unions"));
        }
    };
    let name = &input.ident;
    let (generics, arguments, bounds) = input.generics.split_for_impl();
    Ok(quote! {
        impl #generics ::martlet_sbi::compact::Compact for #name #arguments #bounds {
            fn write(&self, out: &mut ::std::vec::Vec<u8>) {
                #write
            }
            fn read(from: &mut ::martlet_sbi::compact::Reader<'_>)
                -> ::core::result::Result<Self, ::martlet_sbi::compact::Error> {
                #read
            }
        }
    })
}

/// Whether a member is an `Option`. Another type of this name does not compile.
fn is_option(of: &Type) -> bool {
    let Type::Path(path) = of else { return false };
    path.path.segments.last().is_some_and(|last| last.ident == "Option")
}

/// Writes one bit for each `Option` member, then the members that are set.
fn write_fields(fields: &Fields, values: Vec<TokenStream>) -> TokenStream {
    let mut flags: Vec<Vec<TokenStream>> = Vec::new();
    let mut optional = 0usize;
    let mut writes = Vec::new();
    for (field, value) in fields.iter().zip(values) {
        if is_option(&field.ty) {
            let bit = optional % 8;
            if bit == 0 {
                flags.push(Vec::new());
            }
            flags[optional / 8].push(quote!((u8::from((#value).is_some()) << #bit)));
            optional += 1;
            writes.push(quote!(if let Some(value) = #value {
                ::martlet_sbi::compact::Compact::write(value, out);
            }));
        } else {
            writes.push(quote!(::martlet_sbi::compact::Compact::write(#value, out);));
        }
    }
    if fields.is_empty() {
        // Each value has at least one byte, so lengths of lists can be checked.
        return quote!(out.push(0););
    }
    let flags = (!flags.is_empty()).then(|| {
        let bytes = flags.iter().map(|bits| quote!(#(#bits)|*));
        quote!(out.extend_from_slice(&[#(#bytes),*]);)
    });
    quote!(#flags #(#writes)*)
}

fn read_fields(fields: &Fields, of: TokenStream) -> TokenStream {
    let mut optional = 0usize;
    let mut reads = Vec::new();
    for field in fields {
        let read = if is_option(&field.ty) {
            let (byte, bit) = (optional / 8, 1u8 << (optional % 8));
            optional += 1;
            quote!(if present[#byte] & #bit != 0 {
                Some(::martlet_sbi::compact::Compact::read(from)?)
            } else {
                None
            })
        } else {
            quote!(::martlet_sbi::compact::Compact::read(from)?)
        };
        reads.push(match &field.ident {
            Some(name) => quote!(#name: #read),
            None => read,
        });
    }
    if fields.is_empty() {
        return quote!({ from.byte()?; Ok(#of {}) });
    }
    let present = (optional > 0).then(|| {
        let bytes = optional.div_ceil(8);
        quote!(let present = from.array::<#bytes>()?;)
    });
    let made = match fields {
        Fields::Named(_) => quote!(#of { #(#reads),* }),
        _ => quote!(#of(#(#reads),*)),
    };
    quote!(#present Ok(#made))
}
