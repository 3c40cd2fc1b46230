#!/bin/sh
# Is this delivery from Plinth, and fresh? With openssl, for looking into one by hand:
#   WEBHOOK_SECRET=whsec_… sh verify.sh HEADERS [BODY]        HEADERS: a file of `Name: value` lines; BODY: or stdin
# Exit code 0: genuine. 1: refused, and stderr says why. openssl is told the key as an argument: whoever may list the
# processes of this machine can read it meanwhile.
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
# Compared are their HMACs under a key of the moment: how long that takes says nothing about the two themselves.
moment=$(openssl rand -hex 32)
same() { [ "$(printf %s "$1" | hmac "$moment" | hex)" = "$(printf %s "$2" | hmac "$moment" | hex)" ]; }

case ${WEBHOOK_SECRET:-} in whsec_?*) ;; *) refuse 'there is no secret to verify with' ;; esac
headers=$1
body=$(mktemp)
trap 'rm -f "$body"' EXIT
cat "${2:--}" > "$body"

id=$(header webhook-id)
timestamp=$(header webhook-timestamp)
case $timestamp in '' | *[!0-9]*) refuse 'webhook-timestamp is no number' ;; esac
age=$(($(date +%s) - timestamp))
if [ "$age" -gt 300 ] || [ "$age" -lt -300 ]; then refuse 'webhook-timestamp is not of the last five minutes'; fi

key=$(printf %s "${WEBHOOK_SECRET#whsec_}" | openssl base64 -d -A | hex)
standard=v1,$({ printf '%s.%s.' "$id" "$timestamp" && cat "$body"; } | hmac "$key" | openssl base64 -A)
signatures=0
matching=0
for signature in $(header webhook-signature); do
  signatures=$((signatures + 1))
  if same "$signature" "$standard"; then matching=$((matching + 1)); fi
done
[ "$matching" -gt 0 ] || refuse 'webhook-signature does not match'

# For a day after a rotation there are two: the old secret still makes one, and this header is of the new one alone.
if [ "$signatures" -eq 1 ]; then
  service=$(hmac "$(printf %s "$WEBHOOK_SECRET" | hex)" < "$body" | hex)
  same "$(header x-service-signature)" "$service" || refuse 'X-Service-Signature does not match'
fi
