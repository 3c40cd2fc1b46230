#!/bin/sh
# Verifies that a delivery is genuine and recent, with openssl, for checking one by hand:
#   WEBHOOK_SECRET=whsec_… sh verify.sh HEADERS [BODY]        HEADERS: a file of `Name: value` lines; BODY: or stdin
# Exit code 0: genuine. 1: refused, with the reason on stderr. openssl gets the key as an argument, so users who can list
# the processes of this machine can read it while this runs.
set -euf

refuse() {
  echo "$1" >&2
  exit 1
}
hex() { od -An -v -tx1 | tr -d ' \n'; }
header() {
  awk -F: -v name="$1" 'tolower($1) == name { sub(/^[^:]*:[ \t]*/, ""); sub(/\r$/, ""); print; exit }' "$headers"
}
# HMAC-SHA256 of stdin, under a key in hexadecimal, as bytes.
hmac() { openssl dgst -sha256 -mac HMAC -macopt "hexkey:$1" -binary; }
# Compares HMACs under a random key, so that the time it takes reveals nothing about the values.
comparison_key=$(openssl rand -hex 32)
same() { [ "$(printf %s "$1" | hmac "$comparison_key" | hex)" = "$(printf %s "$2" | hmac "$comparison_key" | hex)" ]; }

case ${WEBHOOK_SECRET:-} in whsec_?*) ;; *) refuse 'WEBHOOK_SECRET is missing or does not begin with whsec_' ;; esac
headers=$1
body=$(mktemp)
trap 'rm -f "$body"' EXIT
cat "${2:--}" > "$body"

id=$(header webhook-id)
timestamp=$(header webhook-timestamp)
case $timestamp in '' | *[!0-9]*) refuse 'webhook-timestamp is not a number' ;; esac
age=$(($(date +%s) - timestamp))
if [ "$age" -gt 300 ] || [ "$age" -lt -300 ]; then refuse 'webhook-timestamp is more than five minutes off'; fi

key=$(printf %s "${WEBHOOK_SECRET#whsec_}" | openssl base64 -d -A | hex)
standard=v1,$({ printf '%s.%s.' "$id" "$timestamp" && cat "$body"; } | hmac "$key" | openssl base64 -A)
signatures=0
matching=0
for signature in $(header webhook-signature); do
  signatures=$((signatures + 1))
  if same "$signature" "$standard"; then matching=$((matching + 1)); fi
done
[ "$matching" -gt 0 ] || refuse 'webhook-signature does not match'

# For 24 hours after a rotation there are two signatures, and X-Service-Signature is made with the new secret only.
if [ "$signatures" -eq 1 ]; then
  service=$(hmac "$(printf %s "$WEBHOOK_SECRET" | hex)" < "$body" | hex)
  same "$(header x-service-signature)" "$service" || refuse 'X-Service-Signature does not match'
fi
