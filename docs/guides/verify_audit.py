#!/usr/bin/env python3
"""Verifies an export of a Plinth audit log: python3 verify_audit.py FILE [HEAD_HASH]"""
import hashlib
import json
import sys


def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def verify(lines, head_hash=None):
    sequence = prev_hash = None
    count = 0
    for line in lines:
        entry = json.loads(line)
        claimed = entry.pop("hash")
        if sequence is None:  # where the export begins; at sequence 1 that is 64 zeros
            sequence, prev_hash = entry["sequence"] - 1, entry["prev_hash"]
            if sequence == 0 and prev_hash != "0" * 64:
                return "BROKEN at 1: the chain does not begin with zeros"
        sequence += 1
        text = prev_hash + canonical(entry)  # entry still has sequence and prev_hash
        computed = hashlib.sha256(text.encode("utf-8")).hexdigest()
        if entry["sequence"] != sequence or entry["prev_hash"] != prev_hash or computed != claimed:
            return f"BROKEN at {sequence}"
        prev_hash = claimed
        count += 1
    if head_hash is not None and head_hash != prev_hash:
        return f"BROKEN at the end: the last hash is {prev_hash}"
    return f"whole: {count} entries, last sequence {sequence}, last hash {prev_hash}"


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8", newline="\n") as file:
        result = verify(file, *sys.argv[2:3])
    print(result)
    sys.exit(0 if result.startswith("whole") else 1)
