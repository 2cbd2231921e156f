"""A token service as registries expect one: who may pull what, written down and signed."""

import base64
import json
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl

import jwt
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm

from unit.registry.scripted import Reply, Seen, errors

SERVICE = "test-registry"
ISSUER = "test-issuer"
_KEY_ID = "test-key"
_ALGORITHM = "ES256"


@dataclass
class TokenService:
    """Answers `GET /token` and `POST /token` of a scripted server.

    Attributes:
        users: password by name; everybody who knows one may pull everything.
        identities: identity token by user name, as good as a password.
        life: seconds until the token that is issued next is over; the registry adds a minute.
        issued: user names, in order; "" for nobody.
        tokens: what was issued to them.
    """

    users: dict[str, str]
    identities: dict[str, str] = field(default_factory=dict)
    life: float = 300
    issued: list[str] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)
    _key: ec.EllipticCurvePrivateKey = field(
        default_factory=lambda: ec.generate_private_key(ec.SECP256R1())
    )

    def configuration(self, realm: str, folder: Path) -> dict[str, object]:
        """Return what a registry's `auth` must say to trust the tokens."""
        key = json.loads(ECAlgorithm.to_jwk(self._key.public_key()))
        path = folder / "jwks.json"
        path.write_text(json.dumps({"keys": [key | {"kid": _KEY_ID, "alg": _ALGORITHM}]}))
        token = {"realm": realm, "service": SERVICE, "issuer": ISSUER, "jwks": str(path)}
        return {"token": token | {"signingalgorithms": [_ALGORITHM]}}

    def answer(self, seen: Seen) -> Reply:
        """Issue a token; nobody in particular may pull nothing."""
        user = self._by_form(seen) if seen.method == "POST" else self._by_password(seen)
        if user is None:
            return errors(401, "UNAUTHORIZED", "incorrect username or password")
        fields = parse_qsl(seen.body) if seen.method == "POST" else seen.query
        scopes = " ".join(value for key, value in fields if key == "scope").split()
        return self._issue(user, scopes if user else [])

    def _by_password(self, seen: Seen) -> str | None:
        """The user of a request, "" for nobody, None for somebody else."""
        if seen.authorization is None:
            return ""
        pair = base64.b64decode(seen.authorization.removeprefix("Basic ")).decode()
        user, _, password = pair.partition(":")
        return user if self.users.get(user) == password else None

    def _by_form(self, seen: Seen) -> str | None:
        form = dict(parse_qsl(seen.body))
        if form.get("grant_type") != "refresh_token":
            return None
        token = form.get("refresh_token")
        return next((user for user, own in self.identities.items() if own == token), None)

    def _issue(self, user: str, scopes: list[str]) -> Reply:
        self.issued.append(user)
        now = time.time()
        claims = {
            "iss": ISSUER,
            "sub": user,
            "aud": SERVICE,
            "exp": int(now + self.life),
            "nbf": int(now) - 3600,
            "iat": int(now) - 3600,
            "jti": uuid.uuid4().hex,
            "access": [_access(scope) for scope in scopes],
        }
        token = jwt.encode(claims, self._key, _ALGORITHM, {"kid": _KEY_ID})
        self.tokens.append(token)
        # It promises more than it may hold, as clocks differ.
        return Reply(200, (), json.dumps({"token": token, "expires_in": 300}).encode())


def _access(scope: str) -> dict[str, object]:
    kind, _, rest = scope.partition(":")
    name, _, actions = rest.rpartition(":")
    return {"type": kind, "name": name, "actions": actions.split(",")}
