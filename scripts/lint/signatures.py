"""Signatures in rustdoc's JSON: what the users of a crate compile against, beyond the names of its items."""
import json

#: Traits of the compiler that no stable program can name.
UNSTABLE = {"Freeze", "UnsafeUnpin", "StructuralPartialEq"}


class Signatures:
    """Lines of one crate: functions, fields, variants, constants, and the traits that each type has, `Send` and `Sync` included."""

    def __init__(self, crate, public):
        """`public` has the path of each public item by its number: types of the crate are named by it, wherever they are defined."""
        self.index, self.public = crate["index"], public
        self.paths = crate["paths"]

    def lines(self, number, path):
        """All lines of a public item, whose path is given."""
        one = self.index[str(number)]
        kind, inner = next(iter(one["inner"].items()))
        name = "::".join(path)
        open_ended = " (non-exhaustive)" if "non_exhaustive" in one["attrs"] else ""
        if kind == "function":
            yield f"{name}: {self.function(inner)}"
        elif kind in ("constant", "static"):
            yield f"{name}: {self.type(inner['type'])} = {(inner.get('const') or inner).get('value') or (inner.get('const') or inner).get('expr')}"
        elif kind == "type_alias":
            yield f"{name} = {self.type(inner['type'])}"
        elif kind in ("struct", "union"):
            yield f"{kind} {name}{self.parameters(inner['generics'])}{open_ended}"
            yield from self.fields(inner.get("kind", inner), name)
        elif kind == "enum":
            yield f"enum {name}{self.parameters(inner['generics'])}{open_ended}"
            for variant in map(self.item, inner["variants"]):
                yield f"{name}::{variant['name']}"
                yield from self.fields(variant["inner"]["variant"]["kind"], f"{name}::{variant['name']}")
        elif kind == "trait":
            yield f"trait {name}{self.parameters(inner['generics'])}: {self.bounds(inner['bounds'])}"
        for number in inner.get("impls", []) if isinstance(inner, dict) else []:
            implementation = self.item(number)["inner"]["impl"]
            # Blanket implementations follow from the others.
            if implementation["trait"] is not None and implementation["blanket_impl"] is None:
                trait = self.path(implementation["trait"])
                if trait.split("::")[-1] not in UNSTABLE:
                    yield f"{name} is {'not ' if implementation['is_negative'] else ''}{trait}"

    def item(self, number):
        return self.index[str(number)]

    def fields(self, kind, name):
        """Lines of the public fields of a struct or a variant; that there are private ones."""
        if kind in ("unit", "plain"):
            return
        inner = next((kind[form] for form in ("plain", "struct", "tuple") if form in kind), kind)
        numbers = inner if isinstance(inner, list) else inner["fields"]
        for place, number in enumerate(numbers):
            if number is not None:
                field = self.item(number)
                yield f"{name}.{field['name'] or place}: {self.type(field['inner']['struct_field'])}"
        if None in numbers or (isinstance(inner, dict) and inner.get("has_stripped_fields")):
            yield f"{name} has private fields"

    def function(self, inner):
        header = "".join(f"{word} " for word in ("const", "async", "unsafe") if inner["header"][f"is_{word}"])
        # Names of arguments may change; that of `self` tells a method.
        inputs = ", ".join(f"self: {self.type(kind)}" if name == "self" else self.type(kind) for name, kind in inner["sig"]["inputs"])
        output = inner["sig"]["output"]
        return f"{header}fn{self.parameters(inner['generics'])}({inputs})" + (f" -> {self.type(output)}" if output else "")

    def parameters(self, generics):
        own = [parameter for parameter in generics["params"] if not next(iter(parameter["kind"].values())).get("is_synthetic")]
        text = ", ".join(parameter["name"] + self.parameter(parameter["kind"]) for parameter in own)
        conditions = generics["where_predicates"]
        return (f"<{text}>" if text else "") + (f" where {json.dumps(conditions, sort_keys=True)}" if conditions else "")

    def parameter(self, kind):
        form, inner = next(iter(kind.items()))
        bounds = inner.get("bounds") or inner.get("outlives")
        if form == "const":
            return f": const {self.type(inner['type'])}"
        return f": {' + '.join(bounds) if form == 'lifetime' else self.bounds(bounds)}" if bounds else ""

    def bounds(self, bounds):
        return " + ".join(self.bound(bound) for bound in bounds)

    def bound(self, bound):
        if "trait_bound" in bound:
            modifier = "?" if bound["trait_bound"]["modifier"] == "maybe" else ""
            return modifier + self.path(bound["trait_bound"]["trait"])
        return bound.get("outlives") or json.dumps(bound, sort_keys=True)

    def path(self, path):
        """A type or a trait by its whole path, wherever it is imported from."""
        known = self.public.get(path["id"]) or self.paths.get(str(path["id"]), {}).get("path")
        return ("::".join(known) if known else path["path"]) + self.arguments(path["args"])

    def arguments(self, arguments):
        inner = (arguments or {}).get("angle_bracketed")
        if inner is None:
            return json.dumps(arguments, sort_keys=True) if arguments else ""
        named = [f"{one['name']} = {self.type(one['binding']['equality']['type'])}" if "equality" in one["binding"] and
                 "type" in one["binding"]["equality"] else json.dumps(one, sort_keys=True) for one in inner["constraints"]]
        all_of_them = [self.argument(one) for one in inner["args"]] + named
        return f"<{', '.join(all_of_them)}>" if all_of_them else ""

    def argument(self, argument):
        if not isinstance(argument, dict):
            return str(argument)
        form, inner = next(iter(argument.items()))
        return self.type(inner) if form == "type" else inner if form == "lifetime" else json.dumps(inner, sort_keys=True)

    def type(self, kind):
        form, inner = next(iter(kind.items())) if isinstance(kind, dict) else (kind, None)
        if form == "resolved_path":
            return self.path(inner)
        if form in ("primitive", "generic"):
            return inner
        if form == "borrowed_ref":
            lifetime = f"{inner['lifetime']} " if inner["lifetime"] else ""
            return f"&{lifetime}{'mut ' if inner['is_mutable'] else ''}{self.type(inner['type'])}"
        if form == "tuple":
            return f"({', '.join(map(self.type, inner))})"
        if form == "slice":
            return f"[{self.type(inner)}]"
        if form == "array":
            return f"[{self.type(inner['type'])}; {inner['len']}]"
        if form == "impl_trait":
            return f"impl {self.bounds(inner)}"
        return json.dumps(kind, sort_keys=True)
