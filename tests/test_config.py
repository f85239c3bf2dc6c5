"""Settings from the environment: choices of GPUs, switches, and values that are refused."""

import pytest

from flambeau import config
from flambeau.errors import ConfigError
from flambeau.runtime.machine import Machine


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("gpu:2", "'gpu:2' is not a kind of GPU"),
        ("virtual:x", "'x' is not a number of devices"),
        ("virtual:0", "0 devices were requested; 1 to 64 are possible"),
        ("virtual:2,speed=9", "option 'speed=9' is unknown"),
        ("virtual:2,races=maybe", "races='maybe' is unknown"),
        ("virtual:2,schedule=random", "schedule='random' is unknown"),
        ("virtual:2,memory=lots", "'lots' is not a number of bytes"),
        ("virtual:2,preset=abacus", "abacus"),
        ("nvidia,memory=1GiB", "nvidia takes no options"),
    ],
)
def test_an_unknown_configuration_value_is_named(text, fact):
    with pytest.raises(ValueError, match=fact):
        Machine(config.parse_gpus(text)).start()


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("virtual:²", "'²' is not a number of devices"),
        ("virtual:", "'' is not a number of devices"),
        ("nvidia:", "'nvidia:' is not a kind of GPU"),
        ("virtual:0", "FLAMBEAU_GPUS='virtual:0': virtual GPUs: 0 devices were requested"),
        ("virtual:1,schedule=seeded:٣", "FLAMBEAU_GPUS='virtual:1,schedule=seeded:٣': .*'seeded:٣' is unknown"),
        ("virtual:2,races=real,races=error", "races is given 2 times"),
        ("virtual:1,memory=1GiB,memory=2GiB,races=real", "memory is given 2 times"),
    ],
)
def test_what_names_no_gpus(text, fact):
    with pytest.raises(ConfigError, match=fact):
        config.parse_gpus(text)


def test_switches_are_1_or_0():
    for name, read in {"FLAMBEAU_STRICT": config.strict, "FLAMBEAU_COMPILE_AHEAD": config.compile_ahead}.items():
        assert [read({name: text}) for text in ("1", "0", "")] == [True, False, False]
        for text in ("²", "٣", "yes", "true", "2", "01"):
            with pytest.raises(ConfigError, match=f"{name}='{text}' is neither 1 nor 0\nhint: use {name}=1"):
                read({name: text})
    assert config.compile_ahead({}) and not config.strict({})


def test_a_wrong_switch_leaves_no_machine_half_started(monkeypatch):
    made = Machine(config.parse_gpus("virtual:1"))
    monkeypatch.setenv("FLAMBEAU_STRICT", "²")
    with pytest.raises(ConfigError, match="FLAMBEAU_STRICT"):
        made.start()
    assert not made.is_started and getattr(made, "driver", None) is None
    monkeypatch.setenv("FLAMBEAU_STRICT", "0")
    made.start()
    assert made.device_count() == 1


def test_the_environment_turns_background_compilation_off():
    assert config.compile_ahead({})
    assert config.compile_ahead({"FLAMBEAU_COMPILE_AHEAD": "1"})
    assert not config.compile_ahead({"FLAMBEAU_COMPILE_AHEAD": "0"})


@pytest.mark.parametrize("text", ["0", "-1", "fast", "inf"])
def test_slowdowns_that_cannot_be(text):
    with pytest.raises(ConfigError, match=f"FLAMBEAU_SLOWDOWN='{text}'"):
        config.slowdown({"FLAMBEAU_SLOWDOWN": text})
