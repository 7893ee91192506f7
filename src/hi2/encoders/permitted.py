"""Which encoder may an index use? One that the caller gave or registered, one that is built in, or one they trust.

An index says which encoder made its vectors: a name and perhaps a source. That is a label to compare, never something
to load, because a model can bring code along. Only the caller knows whether an index comes from someone they trust.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hi2.encoders.encoder import Encoder, EncoderIdentity, Label
from hi2.encoders.sentence_transformers import SentenceTransformerEncoder
from hi2.encoders.static import StaticEncoder
from hi2.encoders.wordllama import WordLlamaEncoder
from hi2.errors import InvalidParameter, described, invalid

#: Encoders that read only plain data of this package, or of an installed package with a fixed name.
BUILT_IN: Mapping[Label, Callable[[], Encoder]] = {
    ("StaticEncoder", None): StaticEncoder,
    ("WordLlamaEncoder", WordLlamaEncoder.source): WordLlamaEncoder,
}
#: Encoders that are the same whenever they are loaded from their source. The others have options (pooling, prefix,
#: lengths) that an index does not store.
LOADABLE: Mapping[str, Callable[[str], Encoder]] = {"SentenceTransformerEncoder": SentenceTransformerEncoder}

_registered: dict[Label, Encoder] = {}


class EncoderNeeded(InvalidParameter):
    """An index needs an encoder that the caller has neither given nor registered, and does not trust."""

    def __init__(self, identity: EncoderIdentity) -> None:
        self.identity = identity
        #: Whether trusting the index would help.
        self.loadable = identity.name in LOADABLE and identity.source is not None
        super().__init__(
            f"The 'encoder' parameter of open must be given: {self.reason}. Call open(path, encoder=...), or "
            "hi2.register_encoder(encoder) before it"
            + (", or open(path, trust_encoder=True) to load what the index names." if self.loadable else ".")
        )

    def __reduce__(self) -> tuple[type[EncoderNeeded], tuple[EncoderIdentity]]:
        return type(self), (self.identity,)  # so that it passes between processes

    @property
    def reason(self) -> str:
        """Why the encoder must be given, without the ways to do so."""
        why = "does not load because an index names it" if self.loadable else "cannot load by itself"
        return f"the index was built with {self.identity}, which hi2 {why}"


def register_encoder(encoder: Encoder) -> None:
    """Let indexes that were built with this encoder use it when they are opened without one.

    An index finds it by its label, the name and the source that the index stores, and checks that it gives the same
    vector of a probe. A further encoder with the same label replaces it.

    >>> import numpy as np, hi2
    >>> def lengths(texts):
    ...     return np.array([[len(text), 1.0] for text in texts])
    >>> hi2.register_encoder(lengths)
    """
    _registered[EncoderIdentity.of(encoder).label] = encoder


def registered_encoders() -> dict[Label, Encoder]:
    """Return the registered encoders by their labels."""
    return dict(_registered)


def unregister_encoders() -> None:
    """Forget all registered encoders."""
    _registered.clear()


def permitted_encoder(identity: EncoderIdentity, *, trust: bool) -> Encoder:
    """Return the encoder an index was built with if it is registered or built in, or if the index is trusted.

    Whatever it is, its vector of the probe is checked.
    """
    encoder = _registered.get(identity.label)
    if encoder is None and identity.label in BUILT_IN:
        encoder = BUILT_IN[identity.label]()
    if encoder is None:
        if not trust or identity.name not in LOADABLE or identity.source is None:
            raise EncoderNeeded(identity)
        encoder = LOADABLE[identity.name](identity.source)
    identity.check(encoder)
    return encoder


def check_trust(trust_encoder: bool) -> bool:
    """Return the argument ``trust_encoder``; anything but True or False is refused."""
    if not isinstance(trust_encoder, bool):
        raise invalid("trust_encoder", "True or False", described(trust_encoder))
    return trust_encoder
