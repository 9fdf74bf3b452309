"""Signatures of what is posted: those of Standard Webhooks."""

import pytest

from pollwise.errors import InputError
from pollwise.notify.signing import signature, signing_key

# The example of the specification (github.com/standard-webhooks/standard-webhooks).
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
ID, TIME = "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330
BODY = b'{"test": 2432232314}'


def test_the_example_of_the_specification():
    key = signing_key(SECRET, "secret")
    assert signature(key, ID, TIME, BODY) == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_another_text_is_the_key_itself():
    assert signing_key("my secret", "secret") == b"my secret"


@pytest.mark.parametrize("secret", ["", "whsec_", "whsec_not base64"])
def test_what_is_no_key(secret):
    with pytest.raises(InputError, match="here: expected whsec_ and base64"):
        signing_key(secret, "here")
