"""Chooses the language model for a task, with its key and its price."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeGuard, TypeVar

from domain.money import FREE, FixedPrice, Price

if TYPE_CHECKING:
    from pydantic_ai.embeddings import EmbeddingModel
    from pydantic_ai.models import Model
    from pydantic_ai.providers import Provider

    _Provide = Callable[[str], Provider[Any]]

_Model = TypeVar("_Model")

CALL_SECONDS = 120
"""The usual time limit of one call."""


class ModelTier(StrEnum):
    """How capable a model is, and what it is chosen for."""

    strong = "strong"  # planning, implementation
    fast = "fast"  # review, test analysis, reflection


@dataclass(frozen=True)
class LanguageModel:
    """A model that can be asked.

    :param notice: what people should know about its price.
    :param setting: the operator's setting that names it.
    :param cheaper: is asked where the budget does not allow this one.
    :param fallback: is asked where this one is refused or away.
    :param seconds: the time limit of one call.
    """

    name: str
    model: Model
    price: Price = FREE
    notice: str | None = None
    setting: str = "FORGE_FAST_MODEL"
    cheaper: LanguageModel | None = None
    fallback: LanguageModel | None = None
    seconds: float = CALL_SECONDS


SETTINGS = {ModelTier.strong: "FORGE_STRONG_MODEL", ModelTier.fast: "FORGE_FAST_MODEL"}
"""The operator's setting that names the model of a tier."""
FALLBACK_SETTING = "FORGE_FALLBACK_MODEL"


@dataclass(frozen=True)
class Embedding:
    """A model that turns texts into vectors."""

    name: str
    model: EmbeddingModel
    price: Price = FREE


@dataclass(frozen=True)
class Unusable:
    """Why a model cannot be asked.

    :param advice: what an operator can do about it.
    """

    reason: str
    advice: str


NOT_SET_UP = Unusable(
    "No model is set up.",
    "To add one, set ANTHROPIC_API_KEY where Forge runs (`forge setup --store ANTHROPIC_API_KEY`), and restart it.",
)
"""Why nothing is asked where nobody named a model or gave a key: a choice, not a mistake."""


@dataclass(frozen=True)
class Models:
    """The models of this installation, by tier.

    :param names: e.g. ``anthropic:claude-haiku-5-5``, ``openai:gpt-5-mini``, ``openai-chat:NAME`` with
        ``OPENAI_BASE_URL`` for compatible servers, ``ollama:NAME``.
    :param prices: the operator's own, by name.
    :param environment: holds the providers' keys, under the names that their SDKs read.
    :param embeds: the embedding model or its name; None if there is none.
    :param fallback: the name of the model that is asked where one of ``names`` is refused or away; without it, the
        model of the other tier is.
    :param are_named: whether somebody named one of them, so that it is a mistake if it cannot be asked.
    :param seconds: the time limit of one call of any of them.
    """

    names: Mapping[ModelTier, str]
    prices: Mapping[str, FixedPrice] = field(default_factory=dict[str, FixedPrice])
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    embeds: str | Embedding | None = None
    fallback: str | None = None
    are_named: bool = True
    seconds: float = CALL_SECONDS
    _known: dict[str, LanguageModel | Unusable] = field(default_factory=dict[str, LanguageModel | Unusable])
    _chosen: dict[ModelTier, LanguageModel | Unusable] = field(
        default_factory=dict[ModelTier, LanguageModel | Unusable]
    )

    @classmethod
    def only(cls, model: LanguageModel) -> Models:
        """One model for every tier."""
        return cls.pair(model, model)

    @classmethod
    def pair(cls, strong: LanguageModel, fast: LanguageModel, fallback: LanguageModel | None = None) -> Models:
        """Models that are there already."""
        known = {model.name: model for model in (strong, fast, fallback) if model is not None}
        names = {ModelTier.strong: strong.name, ModelTier.fast: fast.name}
        return cls(names, fallback=None if fallback is None else fallback.name, _known={**known})

    def choose(self, tier: ModelTier) -> LanguageModel | Unusable:
        """The model of a tier, with those that stand in for it.

        Where it has no key but the named fallback has one, that is the model of the tier.
        """
        if tier not in self._chosen:
            self._chosen[tier] = self._add_stand_ins(tier, self.find(tier))
        return self._chosen[tier]

    def find(self, tier: ModelTier) -> LanguageModel | Unusable:
        """The model that is named for a tier, by itself."""
        return self._find(self.names[tier], SETTINGS[tier])

    @property
    def explicit_fallback(self) -> LanguageModel | Unusable | None:
        """The model that the operator named as the fallback."""
        return None if self.fallback is None else self._find(self.fallback, FALLBACK_SETTING)

    def _find(self, name: str, setting: str) -> LanguageModel | Unusable:
        if name not in self._known:
            built = build_language_model(name, self.prices, self.environment)
            is_usable = isinstance(built, LanguageModel)
            self._known[name] = replace(built, seconds=self.seconds) if is_usable else built
        found = self._known[name]
        return replace(found, setting=setting) if isinstance(found, LanguageModel) else found

    def _add_stand_ins(self, tier: ModelTier, own: LanguageModel | Unusable) -> LanguageModel | Unusable:
        others = {each: self.find(each) for each in ModelTier if each is not tier}
        named = self.explicit_fallback
        if isinstance(own, Unusable):
            if not isinstance(named, LanguageModel):
                is_chosen = self.are_named or any(isinstance(each, LanguageModel) for each in others.values())
                return own if is_chosen else NOT_SET_UP
            told = [named.notice, own.reason, f"So {named.name} was asked."]
            return replace(named, notice=" ".join(filter(None, told)))
        usable = {each: model for each, model in others.items() if _differs(model, own)}
        fallback = named if _differs(named, own) else next(iter(usable.values()), None)
        return replace(own, cheaper=usable.get(ModelTier.fast), fallback=fallback)

    @cached_property
    def embedding(self) -> Embedding | Unusable | None:
        """The embedding model, or why it cannot be asked."""
        if isinstance(self.embeds, str):
            return build_embedding_model(self.embeds, self.prices, self.environment)
        return self.embeds

    def list_unusable(self) -> Sequence[Unusable]:
        """The models that cannot be asked, each once."""
        found = (*map(self.find, ModelTier), self.explicit_fallback, self.embedding)
        return list(dict.fromkeys(each for each in found if isinstance(each, Unusable)))


def _differs(model: LanguageModel | Unusable | None, own: LanguageModel) -> TypeGuard[LanguageModel]:
    """Whether it can be asked in place of another one."""
    return isinstance(model, LanguageModel) and model.name != own.name


def build_embedding_model(
    name: str, prices: Mapping[str, FixedPrice], environment: Mapping[str, str] = os.environ
) -> Embedding | Unusable:
    """The embedding model of this name, or why it cannot be asked. Sends nothing."""
    from pydantic_ai.embeddings import infer_embedding_model

    from agents.llm.prices import find_price

    model = _infer(name, environment, lambda provide: infer_embedding_model(name, provider_factory=provide))
    return model if isinstance(model, Unusable) else Embedding(name, model, find_price(name, prices)[0])


def build_language_model(
    name: str, prices: Mapping[str, FixedPrice], environment: Mapping[str, str] = os.environ
) -> LanguageModel | Unusable:
    """The model of this name, or why it cannot be asked. Sends nothing."""
    from pydantic_ai.models import infer_model  # takes half a second that other commands need not wait

    from agents.llm.prices import find_price

    model = _infer(name, environment, lambda provide: infer_model(name, provide))
    if isinstance(model, Unusable):
        return model
    cost, notice = find_price(name, prices)
    return LanguageModel(name, model, cost, notice)


def _infer(name: str, environment: Mapping[str, str], infer: Callable[[_Provide], _Model]) -> _Model | Unusable:
    """What the library makes of a name, or why it cannot be asked.

    :param infer: is given what makes a provider.
    """
    from pydantic_ai.exceptions import UserError

    missing = _check_key(name, environment)
    if missing is not None:
        return missing
    try:
        return infer(lambda kind: _provider(kind, environment))
    except ImportError as error:
        return Unusable(
            f"{name} cannot be asked: {_explain_not_installed(name, error)}", "Install it, or name another model."
        )
    except (UserError, ValueError) as error:
        return Unusable(
            f"{name} cannot be asked: {_first_line(error)}", "Correct its name and what its provider needs."
        )


def _check_key(name: str, environment: Mapping[str, str]) -> Unusable | None:
    key = _KEYS.get(name.partition(":")[0])
    if key is None or any(environment.get(variable) for variable in key):
        return None
    return Unusable(
        f"{name} cannot be asked: {key[0]} is not set.",
        f"Set it in the environment or in .env, or store it: `forge setup --store {key[0]}`.",
    )


_KEYS = {
    "anthropic": ("ANTHROPIC_API_KEY",),
    "openai": ("OPENAI_API_KEY", "OPENAI_BASE_URL"),  # compatible servers often want no key
    "openai-chat": ("OPENAI_API_KEY", "OPENAI_BASE_URL"),
    "ollama": ("OLLAMA_BASE_URL",),
}


def find_key_variable(name: str) -> str | None:
    """The name of the variable that holds a model's key; None if Forge does not know it."""
    key = _KEYS.get(name.partition(":")[0])
    return None if key is None else key[0]


def _provider(kind: str, environment: Mapping[str, str]) -> Provider[Any]:
    """The provider with its key and address, under the names its SDK reads."""
    from pydantic_ai.providers import infer_provider
    from pydantic_ai.providers.anthropic import AnthropicProvider
    from pydantic_ai.providers.ollama import OllamaProvider
    from pydantic_ai.providers.openai import OpenAIProvider

    known = {"anthropic": AnthropicProvider, "openai": OpenAIProvider, "ollama": OllamaProvider}
    family = kind.split("-")[0]
    if family not in known:
        return infer_provider(kind)
    key, address = (environment.get(f"{family.upper()}_{part}") or None for part in ("API_KEY", "BASE_URL"))
    return known[family](api_key=key, base_url=address)


_SDKS = {"bedrock": "boto3", "google": "google-genai", "groq": "groq", "mistral": "mistralai"}
"""The SDKs that an extra of Forge installs."""


def _explain_not_installed(name: str, error: ImportError) -> str:
    extra = name.partition(":")[0].split("-")[0]
    if extra not in _SDKS:
        return _first_line(error)
    return (
        f"the SDK of its provider is not installed where Forge runs. Install it with `pip install '.[{extra}]'` in "
        f"Forge's folder, or add {_SDKS[extra]} to its image as docs/operations.md says."
    )


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)[:300]
