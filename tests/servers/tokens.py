"""A token service as registries expect one: who may pull what, written down and signed."""

import base64
import json
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path

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
    """Answers `GET /token` of a scripted server.

    Attributes:
        users: password by name; everybody who knows one may pull everything.
        life: seconds until the token that is issued next is over; the registry adds a minute.
        issued: user names, in order; "" for nobody.
    """

    users: dict[str, str]
    life: float = 300
    issued: list[str] = field(default_factory=list)
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
        user = ""
        if seen.authorization is not None:
            pair = base64.b64decode(seen.authorization.removeprefix("Basic ")).decode()
            user, _, password = pair.partition(":")
            if self.users.get(user) != password:
                return errors(401, "UNAUTHORIZED", "incorrect username or password")
        self.issued.append(user)
        scopes = [value for key, value in seen.query if key == "scope"] if user else []
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
        # It promises more than it may hold, as clocks differ.
        return Reply(200, (), json.dumps({"token": token, "expires_in": 300}).encode())


def _access(scope: str) -> dict[str, object]:
    kind, _, rest = scope.partition(":")
    name, _, actions = rest.rpartition(":")
    return {"type": kind, "name": name, "actions": actions.split(",")}
