# SPDX-License-Identifier: BSD-2-Clause
"""records.py COMMAND SCHEMA FILE...: records of `inkling run` beside docs/records.schema.json.

    validate FILE...   every line is a record of the schema
    document PAGE      the tables of docs/records.md have the fields of the schema: where they are, types, always or not
    seen FILE...       every field of the schema is in some line, with each of its types
    wrong FILE...      lines that were changed for the worse are none: a field more, one less, or of another type

Prints what is wrong, and exits with 1 then.
"""

import copy
import json
import sys

import jsonschema

KINDS = ("report", "statistics", "summary")
KERNEL = {"hook", "processor"}  # of `inkling reports`, which kernel_commands.sh tests
COMPLAINTS = 20  # the most that are printed


# ------------------------------------------------------------------ the fields of the schema


class Fields:
    """Path of each field ("table.bytes") -> types, kinds of records it is in, kinds of records that must have it."""

    def __init__(self, schema):
        self.schema, self.found, self.described = schema, {}, set()
        self.walk(self.resolve({"$ref": "#/$defs/report"}), "", ["report"])
        self.walk(self.resolve({"$ref": "#/$defs/summary"}), "", ["statistics", "summary"])

    def resolve(self, node):
        """What a reference leads to, with what stands beside it."""
        while "$ref" in node:
            beside = {k: v for k, v in node.items() if k != "$ref"}
            target = self.schema["$defs"][node["$ref"].split("/")[-1]]
            node = {**target, **beside, "properties": {**target.get("properties", {}), **beside.get("properties", {})}}
        return node

    def types(self, node):
        node = self.resolve(node)
        if "oneOf" in node and "type" not in node:
            return set().union(*(self.types(n) for n in node["oneOf"]))
        if "type" not in node:
            return {"string"}  # const and enum: all that there are have names
        return {node["type"]} if isinstance(node["type"], str) else set(node["type"])

    def walk(self, node, before, kinds):
        absent = [name for name, value in node.get("then", {}).get("properties", {}).items() if value is False]
        for name, field in node.get("properties", {}).items():
            where = [k for k in kinds if not (k == "statistics" and name in absent)]
            self.add(before + name, field, where, where if name in node.get("required", []) else [])

    def add(self, path, field, kinds, required):
        types, where, always = self.found.setdefault(path, (set(), [], []))
        types |= self.types(field)
        where += kinds
        always += required
        if field.get("$ref") in self.described:
            return  # a shape that an earlier field has described
        if self.types(field) & {"object", "array"}:
            self.described.add(field.get("$ref", path))
        self.descend(path, self.resolve(field), kinds)

    def descend(self, path, node, kinds):
        self.walk(node, path + ".", kinds)
        if isinstance(node.get("additionalProperties"), dict):
            self.add(path + ".*", node["additionalProperties"], kinds, [])
        if "properties" in self.resolve(node.get("items", {})):
            self.walk(self.resolve(node["items"]), path + "[].", kinds)


# ------------------------------------------------------------------ the document


def rows_of(page):
    """The rows of all tables whose first column is called field, as lists of cells."""
    inside = False
    for line in open(page, encoding="utf-8"):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|"):
            inside = False
        elif cells[0] == "field":
            inside = True
        elif inside and not line.startswith("|---"):
            yield cells


def documented(page):
    """Path -> what the document says of it, as Fields has it."""
    fields = {}
    for cells in rows_of(page):
        name, there, where, types = cells[0].strip("`"), cells[1], cells[2], cells[3]
        kinds = list(KINDS) if where == "all" else where.split(", ")
        if name in fields:
            yield f"the document has {name} twice"
        fields[name] = (set(types.split(" or ")), kinds, kinds if there == "always" else [])
    yield fields


def document(schema, files):
    *twice, there = documented(files[0])
    yield from twice
    fields = Fields(schema).found
    for name in sorted(fields.keys() | there.keys()):
        if name not in there:
            yield f"{files[0]} lacks the field {name}"
        elif name not in fields:
            yield f"the schema lacks the field {name} of {files[0]}"
        elif there[name] != fields[name]:
            yield f"{name} is {there[name]} in {files[0]}, and {fields[name]} in the schema"


# ------------------------------------------------------------------ records


def records(files):
    for file in files:
        with open(file, encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                yield f"{file}:{number}", json.loads(line)


def validate(schema, files):
    validator = jsonschema.Draft202012Validator(schema)
    for place, record in records(files):
        for error in validator.iter_errors(record):
            yield f"{place}: {'.'.join(map(str, error.absolute_path)) or 'the record'}: {error.message}"


def type_of(value):
    for type_, name in ((bool, "boolean"), (int, "integer"), (float, "number"), (str, "string"), (list, "array")):
        if isinstance(value, type_):
            return name
    return "null" if value is None else "object"


def paths_of(value, path, fields):
    """The path and the type of all that is in a value; names that the machine gives are *."""
    if isinstance(value, dict):
        for name, inner in value.items():
            known = f"{path}.{name}" if path else name
            known = f"{path}.*" if f"{path}.*" in fields else known
            yield known, type_of(inner)
            yield from paths_of(inner, known, fields)
    elif isinstance(value, list):
        for inner in value:
            yield from paths_of(inner, path + "[]", fields)


def seen(schema, files):
    fields, found = Fields(schema).found, set()
    for _, record in records(files):
        found |= {(record["event_type"], *at) for at in paths_of(record, "", fields)}
    for name, (types, kinds, _) in fields.items():
        if name in KERNEL:
            continue
        for kind in kinds:
            have = {type_ for k, path, type_ in found if (k, path) == (kind, name)}
            if not have:
                yield f"no {kind} has the field {name}"
        have = {type_ for _, path, type_ in found if path == name}
        if "integer" in have and "number" in types:
            have = have - {"integer"} | {"number"}
        for type_ in types - have:
            yield f"{name} is never {type_}"


# ------------------------------------------------------------------ wrong records


def places(value, path=()):
    """The path of each object and of each value in it."""
    if isinstance(value, (dict, list)):
        for at in value if isinstance(value, dict) else range(len(value)):
            yield path + (at,)
            yield from places(value[at], path + (at,))


def changed(record, path, change):
    """A copy in which `change` was applied to what holds the last step of the path."""
    other = copy.deepcopy(record)
    place = other
    for step in path[:-1]:
        place = place[step]
    change(place, path[-1])
    return other


def of_another_type(place, at):
    place[at] = [] if not isinstance(place[at], list) else "text"


def takes_any_name(path, fields):
    return f"{path[-1]}.*" in fields


def worse(record, fields):
    """What was done, and the record after that."""
    kind = record["event_type"]
    yield "a field more", {**record, "nonsense": 1}
    for path in places(record):
        name = ".".join(str(step) for step in path)
        value = record
        for step in path:
            value = value[step]
        yield f"{name} of another type", changed(record, path, of_another_type)
        if isinstance(value, dict) and not takes_any_name(path, fields):
            yield f"a field more in {name}", changed(record, path, lambda p, at: p[at].update(nonsense=1))
        if kind in fields.get(name, ((), (), ()))[2]:
            yield f"{name} is missing", changed(record, path, lambda p, at: p.pop(at))


def wrong(schema, files):
    validator = jsonschema.Draft202012Validator(schema)
    fields, tried = Fields(schema).found, set()
    for place, record in records(files):
        shape = (record["event_type"], *(path for path, _ in paths_of(record, "", fields)))
        if shape in tried:
            continue
        tried.add(shape)
        for what, other in worse(record, fields):
            if validator.is_valid(other):
                yield f"{place}: {what}, and the schema allows it"


def main(command, path, *files):
    with open(path, encoding="utf-8") as file:
        schema = json.load(file)
    jsonschema.Draft202012Validator.check_schema(schema)
    complaints = 0
    for complaint in {"validate": validate, "document": document, "seen": seen, "wrong": wrong}[command](schema, files):
        complaints += 1
        if complaints <= COMPLAINTS:
            print(complaint)
    if complaints > COMPLAINTS:
        print(f"and {complaints - COMPLAINTS} more")
    return complaints > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
