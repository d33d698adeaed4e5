"""Envelopes, the vault and the redactor: what opens, what does not, and what is never said."""

from __future__ import annotations

import base64
import json
import os
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgbpm import config as configuration
from pgbpm.cli.output import masked
from pgbpm.config import EncryptionConfig
from pgbpm.encryption import Envelope, KeyRing, SealedError, new_key, read_key
from pgbpm.errors import ConfigError
from pgbpm.jsontext import NotJson, read_exact
from pgbpm.redaction import REDACTED, Redactor
from pgbpm.sealing import Encrypted, Variables, Vault

RAW = {"k1": bytes(range(32)), "k2": bytes(range(1, 33))}
RING = KeyRing(RAW, "k1")
TEXT = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), max_size=30)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


def envelope(text: str) -> Envelope:
    found = Envelope.of(text)
    assert found is not None
    return found


def refused(ring: KeyRing, tenant: str, text: str) -> str:
    """Why it cannot be opened."""
    with pytest.raises(SealedError) as error:
        ring.open(tenant, envelope(text))
    return error.value.message


@pytest.fixture
def environ(monkeypatch: pytest.MonkeyPatch) -> None:
    for key_id, raw in RAW.items():
        monkeypatch.setenv(f"KEY_{key_id}", base64.b64encode(raw).decode())


def vault(*variables: str, **options: Any) -> Vault:
    """A vault with the keys k1 and k2; the first one encrypts."""
    given = {"keys": ("k1=env:KEY_k1", "k2=env:KEY_k2"), "active_key": "k1", **options}
    return Vault(EncryptionConfig(variables=variables, **given))


# -- envelopes -----------------------------------------------------------------------------------


@given(TEXT, TEXT, JSON)
def test_what_was_sealed_opens(tenant: str, place: str, value: Any) -> None:
    text = RING.seal(tenant, place, value)
    assert text.startswith("__encrypted:1:k1:")
    assert RING.open(tenant, envelope(text)) == (place, value)
    assert text != RING.seal(tenant, place, value)


@given(TEXT, JSON, st.data())
def test_what_was_changed_does_not_open(tenant: str, value: Any, data: st.DataObject) -> None:
    text = RING.seal(tenant, "ssn", value)
    at = data.draw(st.integers(len("__encrypted:1:k1:"), len(text) - 1))
    payload = envelope(text).payload()
    bit = data.draw(st.integers(0, len(payload) * 8 - 1))
    changed = bytearray(payload)
    changed[bit // 8] ^= 1 << bit % 8
    forged = "__encrypted:1:k1:" + base64.urlsafe_b64encode(changed).rstrip(b"=").decode()
    for other in (text[:at], text + "A", text + "=", text + "\n", forged):
        with pytest.raises(SealedError):
            RING.open(tenant, envelope(other))
    other = data.draw(TEXT.filter(lambda name: name != tenant))
    assert "not encrypted with key k1 for tenant" in refused(RING, other, text)


@given(st.text(max_size=60))
def test_any_text_is_data_or_an_envelope_that_does_not_open(tail: str) -> None:
    for head in ("", "__encrypted:", "__encrypted:1:", "__encrypted:1:k1:", "__encrypted:2:k1:"):
        found = Envelope.of(head + tail)
        if found is not None:
            with pytest.raises(SealedError):
                RING.open("", found)


def test_an_envelope_is_bound_to_its_key_id() -> None:
    text = RING.seal("a", "ssn", "1")
    moved = text.replace(":k1:", ":k2:")
    assert "not encrypted with key k2" in refused(RING, "a", moved)
    same = KeyRing({"other": RAW["k1"]}, "other")
    assert refused(same, "a", text) == "key k1 is not in the key ring (there: other)"
    assert "not encrypted" in refused(same, "a", text.replace(":k1:", ":other:"))
    assert refused(RING, "a", text.replace(":1:", ":2:", 1)) == (
        "envelopes of version 2 are not known here"
    )


def test_lengths_tell_little() -> None:
    assert len(RING.seal("", "agreed", "yes")) == len(RING.seal("", "agreed", False))
    assert len(RING.seal("", "a", 1)) < len(RING.seal("", "a", "x" * 40))


def test_the_same_call_gives_the_same_text() -> None:
    first = RING.seal("a", "ssn", "123", once="order-1")
    assert RING.seal("a", "ssn", "123", once="order-1") == first
    others = {
        RING.seal("a", "ssn", "123", once="order-2"), RING.seal("a", "ssn", "124", once="order-1"),
        RING.seal("b", "ssn", "123", once="order-1"), RING.seal("a", "sn", "123", once="order-1"),
        KeyRing(RAW, "k2").seal("a", "ssn", "123", once="order-1"), first,
    }  # fmt: skip
    assert len({envelope(text).payload()[:12] for text in others}) == 6
    assert RING.open("a", envelope(first)) == ("ssn", "123")


def test_what_is_no_json_is_refused_as_in_clear() -> None:
    for value in (float("nan"), "\0", "\ud800", object(), {1, 2}):
        with pytest.raises(NotJson):
            RING.seal("", "x", value)


def test_keys() -> None:
    assert len(read_key(new_key(), "k")) == 32
    raw = os.urandom(32)
    assert read_key(base64.urlsafe_b64encode(raw).decode().rstrip("="), "k") == raw
    for text in ("", "short", base64.b64encode(b"x" * 31).decode(), "hunter2!" * 6):
        with pytest.raises(ConfigError) as error:
            read_key(text, "encryption.keys: key k1")
        assert "encryption.keys: key k1 is no key" in str(error.value)
        assert not text or text not in str(error.value)
    assert repr(RING) == "KeyRing(active='k1', ids=['k1', 'k2'])"


# -- the vault -----------------------------------------------------------------------------------


@pytest.mark.usefixtures("environ")
def test_declared_places_are_sealed_and_the_rest_is_not() -> None:
    safe = vault("ssn", "card.*", "*_secret")
    given = {
        "ssn": "123", "note": "ssn 123", "card": {"number": 4111, "deep": {"x": 1}, "gone": None},
        "people": [{"ssn": "1"}], "a_secret": [1, {"b": 2}], "_secret": "", "n": 1,
        "paper": (1, Encrypted({"x": Encrypted(2)})),
    }  # fmt: skip
    sealed, seen = safe.seal("t", given)
    clear = {name: value for name, value in sealed.items() if masked(value) == value}
    assert clear == {"note": "ssn 123", "people": [{"ssn": "1"}], "n": 1}
    assert masked(sealed["card"]) == {
        "number": "(encrypted, key k1)", "deep": "(encrypted, key k1)", "gone": None,
    }  # fmt: skip
    assert seen == ["123", 4111, {"x": 1}, [1, {"b": 2}], "", {"x": 2}]
    opened = safe.open("t", sealed)
    assert opened.variables == {**given, "paper": [1, {"x": 2}]}
    assert opened.places == {"ssn", "card.number", "card.deep", "a_secret", "_secret", "paper"}
    assert safe.seal("t", sealed)[0] == sealed  # what is sealed already stays as it is
    assert safe.seal("t", None) == (None, [])
    around: dict[str, Any] = {}
    around["around"] = around
    with pytest.raises(NotJson):
        safe.seal("t", around)


@pytest.mark.usefixtures("environ")
def test_what_was_sealed_is_sealed_again() -> None:
    by_hand, _ = vault().seal("t", {"ssn": Encrypted("123"), "note": "x"})
    opened = vault().open("t", by_hand)
    sealed, seen = vault().seal("t", {**opened.variables, "note": "y"}, before=opened)
    assert masked(sealed) == {"ssn": "(encrypted, key k1)", "note": "y"}
    assert seen == ["123"]


@pytest.mark.usefixtures("environ")
def test_an_envelope_opens_only_where_it_belongs() -> None:
    sealed, _ = vault().seal("t", {"ssn": Encrypted("1"), "card": {"number": Encrypted("4")}})
    moved = {"greeting": sealed["ssn"], "payment": {"number": sealed["card"]["number"]}, "n": 1}
    opened = vault().open("t", moved).variables
    assert isinstance(opened, Variables)
    assert dict(opened) == {"n": 1}
    assert opened.get("n") == 1
    assert opened.get("absent", 7) == 7
    for read in (opened.__getitem__, opened.get):
        with pytest.raises(SealedError, match="variable greeting cannot be decrypted") as error:
            read("greeting")
        assert error.value.hint == (
            'if a mapping carries it here: encryption.renamed = ["greeting=ssn"]'
        )
    with pytest.raises(KeyError):
        opened["absent"]
    renamed = vault(renamed=("greeting=ssn", "payment = card"))
    assert renamed.open("t", moved).variables == {
        "greeting": "1", "payment": {"number": "4"}, "n": 1,
    }  # fmt: skip
    with pytest.raises(SealedError):
        vault(renamed=("ssn=greeting",)).open("t", moved).variables["greeting"]


@pytest.mark.usefixtures("environ")
def test_forged_envelopes_are_only_data() -> None:
    forged = {
        "a": "__encrypted:anything", "b": "__encrypted:1:k1:AAAA",
        "c": "__encrypted:1:k9:" + "A" * 90,
        "d": ["__encrypted:x:y:z"], "e": "__encrypted:1:", "ok": 1,
    }  # fmt: skip
    opened = vault().open("t", forged).variables
    assert dict(opened) == {name: forged[name] for name in "ade"} | {"ok": 1}
    with pytest.raises(SealedError, match="variable b cannot be decrypted: the envelope is damag"):
        opened["b"]
    with pytest.raises(SealedError, match=r"key k9 is not in the key ring \(there: k1, k2\)"):
        opened["c"]
    # where something is declared, a forged envelope is sealed like any other text
    sealed, _ = vault("b").seal("t", {"b": forged["b"]})
    assert vault().open("t", sealed).variables == {"b": forged["b"]}


@pytest.mark.usefixtures("environ")
def test_rotation_old_keys_open_and_the_active_one_seals() -> None:
    old, _ = vault("ssn").seal("t", {"ssn": "1", "deep": [{"x": Encrypted(2)}]})
    late = vault("ssn", active_key="k2")
    assert late.open("t", old).variables == {"ssn": "1", "deep": [{"x": 2}]}
    renewed = late.renew("t", old)
    assert masked(renewed) == {
        "ssn": "(encrypted, key k2)", "deep": [{"x": "(encrypted, key k2)"}],
    }  # fmt: skip
    assert late.open("t", renewed).variables == {"ssn": "1", "deep": [{"x": 2}]}
    assert late.renew("t", renewed) == renewed
    alone = Vault(EncryptionConfig(keys=("k2=env:KEY_k2",)))
    with pytest.raises(SealedError, match=r"key k1 is not in the key ring \(there: k2\)"):
        alone.renew("t", old)


def test_without_keys() -> None:
    nothing = Vault(EncryptionConfig())
    nothing.check()
    assert nothing.seal("t", {"a": 1})[0] == {"a": 1}
    with pytest.raises(SealedError, match="variable a is to be encrypted, and no key"):
        nothing.seal("t", {"a": Encrypted(1)})
    text = RING.seal("t", "a", 1)
    with pytest.raises(SealedError, match="no keys are configured here, it needs key k1"):
        nothing.open("t", {"a": text}).variables["a"]
    assert nothing.open("t", {"a": "__encrypted:their own"}).variables == {
        "a": "__encrypted:their own"
    }


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"keys": ("k1=env:A", "k2=env:B")}, "active_key must say"),
        ({"keys": ("k1=env:A",), "active_key": "k3"}, "'k3' is not among"),
        ({"keys": ("k1=env:A", "k1=env:B")}, "twice"),
        ({"keys": ("k1=c2VjcmV0",)}, "not ID=env:NAME"),
        ({"keys": ("c2VjcmV0",)}, "not ID=env:NAME"),
        ({"keys": ("a:b=env:A",)}, "a key id has"),
        ({"variables": ("ssn",)}, "no key to encrypt them"),
        ({"renamed": ("a",)}, "'a' is not NEW=OLD"),
        ({"clear_to": ("pay.example.com=card",)}, "not ADDRESS=PLACE"),
        ({"clear_to": ("https://pay.example.com/",)}, "not ADDRESS=PLACE"),
    ],
)
def test_configurations_that_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as error:
        Vault(EncryptionConfig(**options))
    assert "c2VjcmV0" not in str(error.value)


def test_keys_that_are_not_there(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text(new_key() + "\n", encoding="utf-8")
    Vault(EncryptionConfig(keys=(f"k1=file:{file}",))).check()
    for reference in ("env:NO_SUCH_KEY", f"file:{tmp_path}/none"):
        with pytest.raises(ConfigError, match="encryption.keys: key k1: .*" + reference[:8]):
            Vault(EncryptionConfig(keys=(f"k1={reference}",))).check()


def test_the_section_of_the_configuration(tmp_path: Path) -> None:
    file = tmp_path / "pgbpm.toml"
    file.write_text('[encryption]\nkeys = ["k1=env:A"]\nvariables = ["ssn"]\n', encoding="utf-8")
    loaded = configuration.load(file, {"BPM__ENCRYPTION__VARIABLES": "ssn,card.*"})
    assert loaded.encryption == EncryptionConfig(keys=("k1=env:A",), variables=("ssn", "card.*"))


# -- receivers -----------------------------------------------------------------------------------


@pytest.mark.usefixtures("environ")
def test_addresses_that_get_clear_values() -> None:
    safe = vault(clear_to=("https://pay.example.com/v1=card.*", "https://tax.example.com=ssn"))
    gets = {
        "https://pay.example.com/v1": 1, "https://pay.example.com/v1/charges?x=1": 1,
        "https://pay.example.com:443/v1/a": 1, "https://pay.example.com/v10": 0,
        "http://pay.example.com/v1": 0, "https://pay.example.com:8443/v1": 0,
        "https://pay.example.com.evil.org/v1": 0, "https://pay.example.com/": 0,
        "https://pay.example.com/v1/../v2": 0, "https://user@tax.example.com/any": 1,
        "https://evil.org/https://pay.example.com/v1": 0,
    }  # fmt: skip
    assert {url: len(safe.clear_for(httpx.URL(url))) for url in gets} == gets


@pytest.mark.usefixtures("environ")
def test_only_what_is_wanted_is_opened_and_numbers_stay_exact() -> None:
    sealed, _ = vault("a", "b").seal("t", {"a": 1, "b": 2, "c": 3})
    opened = vault().open("t", sealed, only=[("a",)])
    assert opened.variables == {"a": 1, "b": sealed["b"], "c": 3}
    text = RING.seal("t", "a", {"price": 0.1})
    exact = vault().open("t", {"a": text}, parse=read_exact).variables
    assert exact == {"a": {"price": Decimal("0.1")}}


# -- silence -------------------------------------------------------------------------------------


@given(JSON, TEXT, TEXT)
def test_nothing_of_a_value_is_left(value: Any, before: str, after: str) -> None:
    redact = Redactor([value])
    scalars = [value] if isinstance(value, str) else []
    for text in scalars:
        if len(text.strip()) >= 3:
            for written in (text, repr(text), json.dumps(text), text.upper().lower()):
                left = redact.text(f"{before}\n{written}\n{after}")
                assert text not in left.replace(REDACTED, "")
    assert redact.data(json.loads(json.dumps(value))) is not NotImplemented


def test_the_writings_of_a_value() -> None:
    redact = Redactor([{"name": "O'Brien Müller", "pin": "42", "sum": 1200, "ok": True, "x": None}])
    said = {
        'KeyError: "O\'Brien Müller"': f'KeyError: "{REDACTED}"',
        "o'brien müller, O%27Brien%20M%C3%BCller": f"{REDACTED}, {REDACTED}",
        json.dumps({"n": "O'Brien Müller"}): f'{{"n": "{REDACTED}"}}',
        "pin 42, not 421; 1200.00 of 1200": f"pin {REDACTED}, not 421; {REDACTED}.00 of {REDACTED}",
        "True, None, name": "True, None, name",
    }
    assert {text: redact.text(text) for text in said} == said
    answer = {"sum": 1200, "ok": True, "list": ["42", 42, 7], "O'Brien Müller": None}
    assert redact.data(answer) == {
        "sum": REDACTED, "ok": True, "list": [REDACTED, REDACTED, 7], REDACTED: None,
    }  # fmt: skip


def test_too_much_to_look_for_is_withheld() -> None:
    assert Redactor([list(range(20_000))]).text("anything") == REDACTED
    assert Redactor().text("anything") == "anything"
    assert Redactor([True, None, ""]).text("true, None") == "true, None"
