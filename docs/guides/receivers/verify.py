# Verifies that a delivery is genuine and recent. Copy `verify` into your receiver, or run this file (Python 3.9):
#   WEBHOOK_SECRET=whsec_… python3 verify.py HEADERS [BODY]   HEADERS: a file of `Name: value` lines; BODY: or stdin
# Exit code 0: genuine. 1: refused, with the reason on stderr.
import base64
import hashlib
import hmac
import os
import sys
import time

TOLERANCE_SECONDS = 5 * 60


def verify(secret, headers, body, now):
    """Returns None if the delivery is genuine, otherwise the reason. `body`: the raw bytes, before any parsing."""
    if not secret.startswith("whsec_") or secret == "whsec_":
        return "WEBHOOK_SECRET is missing or does not begin with whsec_"
    message_id, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not (timestamp.isascii() and timestamp.isdigit()) or abs(now - int(timestamp)) > TOLERANCE_SECONDS:
        return "webhook-timestamp is more than five minutes off"
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{message_id}.{timestamp}.".encode() + body
    standard = "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    signatures = headers.get("webhook-signature", "").split(" ")
    if not any([same(signature, standard) for signature in signatures]):
        return "webhook-signature does not match"
    # For 24 hours after a rotation there are two signatures, and X-Service-Signature is made with the new secret only.
    service = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    if len(signatures) == 1 and not same(headers.get("x-service-signature", ""), service):
        return "X-Service-Signature does not match"
    return None


def same(given, expected):
    """Compares in constant time."""
    return hmac.compare_digest(given.encode(), expected.encode())


if __name__ == "__main__":
    headers = {}
    with open(sys.argv[1], encoding="utf-8") as lines:
        for line in lines:
            name, _, value = line.partition(":")
            headers[name.strip().lower()] = value.strip()
    body = open(sys.argv[2], "rb").read() if len(sys.argv) > 2 else sys.stdin.buffer.read()
    refused = verify(os.environ.get("WEBHOOK_SECRET", ""), headers, body, time.time())
    if refused is not None:
        print(refused, file=sys.stderr)
    sys.exit(0 if refused is None else 1)
