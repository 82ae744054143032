"""A typed form for the arguments of one call, made from the contract's JSON Schema.

schema, arguments, POST data -> form -> edited arguments.  Touches: nothing (pure).

A field the person did not touch gives back the very value it had, so that an edit changes only what was edited.
"""

import json
from collections.abc import Mapping
from datetime import date
from typing import Any

from django import forms
from django.utils.html import escape
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from jsonschema import Draft202012Validator
from pydantic import ValidationError

from chat.tools.contract import Contract
from chat.words import plain

PREFIX = "arg"
LONG_TEXT = 80  # a longer value gets several lines


class ArgsForm(forms.Form):
    """One form for one call; `schemas` and `before` say how to read it back."""

    schemas: dict[str, Mapping[str, Any]]
    before: dict[str, Any]

    def args(self) -> dict[str, Any]:
        """The edited arguments. Call it on a valid form only."""
        found = dict(self.before)
        for name, schema in self.schemas.items():
            if name not in self.changed_data:
                continue
            value = self.cleaned_data[name]
            if value in (None, "") and not keeps_blank(schema):
                found.pop(name, None)  # the contract's default, or its word that it is missing
                if nullable(schema):
                    found[name] = None
            else:
                found[name] = value.isoformat() if isinstance(value, date) else value
        return found

    def show_faults(self, faults: Mapping[str, list[str]]) -> None:
        """Put each fault at its field; what belongs to none goes on top."""
        for name, texts in faults.items():
            for text in texts:
                self.add_error(name if name in self.fields else None, text)


class ExactText(forms.CharField):
    """Text as it was typed: neither stripped nor with the line ends of the browser."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(strip=False, **kwargs)

    def to_python(self, value: Any) -> str:
        return str(super().to_python(value) or "").replace("\r\n", "\n")

    def has_changed(self, initial: Any, data: Any) -> bool:
        return self.to_python(initial) != self.to_python(data)


class ExactJson(forms.JSONField):
    """JSON a person can read: characters instead of escapes, and no NaN, which is no JSON."""

    def to_python(self, value: Any) -> Any:
        if isinstance(value, str) and value.strip():
            try:
                return json.loads(value, parse_constant=self._refuse)
            except ValueError as fault:
                raise forms.ValidationError(_("This is not valid JSON: %(fault)s") % {"fault": fault}) from None
        return None

    def prepare_value(self, value: Any) -> Any:
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)

    def has_changed(self, initial: Any, data: Any) -> bool:
        try:
            return bool(self.to_python(data) != initial)
        except forms.ValidationError:
            return True

    @staticmethod
    def _refuse(name: str) -> Any:
        raise ValueError(name)


def form_for(
    schema: Mapping[str, Any], args: Mapping[str, Any], labels: Mapping[str, str], data: Any = None, *, ids: str = ""
) -> ArgsForm:
    """The form, filled with the arguments, or with what was posted. `ids` keeps two forms on one page apart."""
    properties: dict[str, Mapping[str, Any]] = dict(schema.get("properties") or {})
    for name, value in args.items():
        properties.setdefault(name, guessed(value))
    form = ArgsForm(data, prefix=PREFIX, initial=dict(args), auto_id=f"{ids}%s")
    form.schemas, form.before = properties, dict(args)
    for name, declared in properties.items():
        needed = name in (schema.get("required") or ())
        form.fields[name] = field_for(declared, args.get(name), needed=needed)
        form.fields[name].label = _(labels[name]) if labels.get(name) else name.replace("_", " ").capitalize()
        form.fields[name].help_text = escape(declared.get("description") or "")
    return form


def field_for(declared: Mapping[str, Any], value: Any, *, needed: bool) -> forms.Field:
    """One form field for one property of the schema."""
    schema = bare(declared)
    choices = schema.get("enum") or ([schema["const"]] if "const" in schema else None)
    kind = schema.get("type")
    if choices:
        return choice(choices, value, needed=needed)
    if kind == "boolean":
        return forms.BooleanField(required=False) if needed or value is not None else choice([True, False], value)
    if kind == "integer":
        return forms.IntegerField(required=needed, **limits(schema, whole=True))
    if kind == "number":
        return forms.FloatField(required=needed, widget=forms.NumberInput({"step": "any"}), **limits(schema))
    if kind == "string":
        return text_field(schema, value, needed=needed)
    if of_lines(schema, value):
        return Lines(
            required=needed and bool(schema.get("minItems")), widget=forms.Textarea({"rows": 3, "dir": "auto"})
        )
    return ExactJson(required=needed, widget=forms.Textarea({"rows": 4, "spellcheck": "false", "class": "mono"}))


def text_field(schema: Mapping[str, Any], value: Any, *, needed: bool) -> forms.Field:
    longest, shortest = schema.get("maxLength"), schema.get("minLength", 0)
    required = needed and shortest > 0
    if schema.get("format") == "date" and (value in (None, "") or is_date(value)):
        widget = forms.DateInput({"type": "date"}, format="%Y-%m-%d")
        return forms.DateField(required=needed, widget=widget, input_formats=["%Y-%m-%d"])
    long = "\n" in str(value or "") or len(str(value or "")) > LONG_TEXT or (longest or 0) > 400
    widgets: dict[str, type[forms.Widget]] = {"email": forms.EmailInput, "uri": forms.URLInput}
    widget_class = forms.Textarea if long else widgets.get(str(schema.get("format")), forms.TextInput)
    attrs = {"rows": 5, "dir": "auto"} if long else {"dir": "auto", "autocomplete": "off"}
    return ExactText(
        required=required, max_length=longest, min_length=shortest or None, widget=widget_class(attrs=attrs)
    )


def choice(choices: list[Any], value: Any, *, needed: bool = False) -> forms.Field:
    """A select whose options are JSON, so that 1 and "1" stay apart."""
    options = [(json.dumps(option), plain(option)) for option in choices]
    if not needed or value not in choices:
        options.insert(0, ("", "–"))
    return JsonChoice(choices=options, required=needed, coerce=json.loads, empty_value=None)


class Lines(forms.CharField):
    """A list of texts, one on each line; empty lines are none."""

    widget = forms.Textarea

    def to_python(self, value: Any) -> Any:
        if isinstance(value, list):
            return value
        return [line.strip() for line in str(value or "").splitlines() if line.strip()]

    def validate(self, value: Any) -> None:
        if self.required and not value:
            raise forms.ValidationError(self.error_messages["required"])

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(value) if isinstance(value, list) else value

    def has_changed(self, initial: Any, data: Any) -> bool:
        return bool(self.to_python(data) != (initial or []))


def of_lines(schema: Mapping[str, Any], value: Any) -> bool:
    """Whether a list can be told by its lines: texts, without line ends or spaces at the rim."""
    texts = schema.get("type") == "array" and (schema.get("items") or {}).get("type") == "string"
    held = value if isinstance(value, list) else []
    return texts and all(isinstance(item, str) and item.split("\n") == [item.strip()] and item for item in held)


class JsonChoice(forms.TypedChoiceField):
    default_error_messages = {"invalid_choice": gettext_lazy("Choose one of the values.")}

    def prepare_value(self, value: Any) -> Any:
        known = {key for key, _label in self.choices}  # type: ignore[union-attr,misc]
        return value if isinstance(value, str) and value in known else json.dumps(value)

    def has_changed(self, initial: Any, data: Any) -> bool:
        return bool(data != ("" if initial is None else json.dumps(initial)))


def limits(schema: Mapping[str, Any], *, whole: bool = False) -> dict[str, Any]:
    least, most = schema.get("minimum"), schema.get("maximum")
    if whole and least is None and "exclusiveMinimum" in schema:
        least = schema["exclusiveMinimum"] + 1
    if whole and most is None and "exclusiveMaximum" in schema:
        most = schema["exclusiveMaximum"] - 1
    return {"min_value": least, "max_value": most}


def bare(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema without its null option: "anyOf [X, null]" and "type [x, null]" are X."""
    if isinstance(schema.get("type"), list):
        kinds = [kind for kind in schema["type"] if kind != "null"]
        return {**schema, "type": kinds[0]} if len(kinds) == 1 else {k: v for k, v in schema.items() if k != "type"}
    options = [option for option in schema.get("anyOf") or () if option.get("type") != "null"]
    return {**options[0], **{k: v for k, v in schema.items() if k != "anyOf"}} if len(options) == 1 else schema


def nullable(schema: Mapping[str, Any]) -> bool:
    kinds = schema.get("type")
    return (isinstance(kinds, list) and "null" in kinds) or any(
        option.get("type") == "null" for option in schema.get("anyOf") or ()
    )


def keeps_blank(schema: Mapping[str, Any]) -> bool:
    """An emptied free text is an empty text; of one with a form to keep (a date, an address) nothing is left."""
    strict = {"enum", "const", "pattern", "format"} & set(bare(schema)) or bare(schema).get("minLength")
    return bare(schema).get("type") == "string" and not strict and not nullable(schema)


def guessed(value: Any) -> Mapping[str, Any]:
    """A schema for an argument that the contract does not describe."""
    kinds: list[tuple[type, str]] = [(bool, "boolean"), (int, "integer"), (float, "number"), (str, "string")]
    return next(({"type": name} for kind, name in kinds if isinstance(value, kind)), {})


def is_date(value: Any) -> bool:
    try:
        date.fromisoformat(value)
    except (TypeError, ValueError):
        return False
    return True


def faults(contract: Contract, args: Mapping[str, Any]) -> dict[str, list[str]]:
    """What the contract has against these arguments, by argument; "" holds what belongs to none."""
    found: dict[str, list[str]] = {}
    if contract.parameters is not None:
        for error in Draft202012Validator(contract.schema()).iter_errors(dict(args)):
            found.setdefault(str(error.absolute_path[0]) if error.absolute_path else "", []).append(error.message[:300])
        return found
    try:
        contract.args.model_validate(dict(args))
    except ValidationError as fault:
        for problem in fault.errors(include_url=False, include_input=False):
            found.setdefault(str(problem["loc"][0]) if problem["loc"] else "", []).append(problem["msg"])
    return found
