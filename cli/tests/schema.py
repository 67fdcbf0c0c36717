"""Validates configurations by the JSON Schema of `martlet reference schema`.

Standard input has one JSON object: `schema`, and `files`, the configurations by name. Standard
output has the errors of each file as JSON. Fails if the schema itself is no valid schema.
"""

import json
import sys

from jsonschema import Draft202012Validator

given = json.load(sys.stdin)
Draft202012Validator.check_schema(given["schema"])
validator = Draft202012Validator(given["schema"])
errors = {
    name: [f"{error.json_path}: {error.message}" for error in validator.iter_errors(value)]
    for name, value in given["files"].items()
}
json.dump(errors, sys.stdout)
