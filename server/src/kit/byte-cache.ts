// Owns a cache that is bounded in bytes and shared by owners. No owner has more than a quarter of it, so that one with much to
// cache does not drive out all others. What was not used for longest goes first.

interface Entry<Value> {
  readonly value: Value;
  readonly bytes: number;
}

interface Owner<Value> {
  bytes: number;
  /** Least recently used first. */
  readonly entries: Map<string, Entry<Value>>;
}

export interface ByteCache<Value> {
  /**
   * Returns what is cached, or a promise of what `load` returns. Whoever asks while it is loaded waits for the same load. A
   * load that fails is not kept.
   */
  get(owner: string, key: string, load: () => Promise<Value>): Value | Promise<Value>;
}

export function createByteCache<Value>(
  maxBytes: number,
  sizeOf: (value: Value, key: string) => number,
): ByteCache<Value> {
  const owners = new Map<string, Owner<Value>>(); // least recently used first
  const loading = new Map<string, Promise<Value>>();
  let total = 0;

  function find(ownerName: string, key: string): Entry<Value> | undefined {
    const owner = owners.get(ownerName);
    const entry = owner?.entries.get(key);
    if (owner === undefined || entry === undefined) return undefined;
    moveToEnd(owner.entries, key, entry);
    moveToEnd(owners, ownerName, owner);
    return entry;
  }

  function keep(ownerName: string, key: string, value: Value): void {
    const bytes = sizeOf(value, key);
    const owner = owners.get(ownerName) ?? { bytes: 0, entries: new Map() };
    moveToEnd(owners, ownerName, owner);
    owner.entries.set(key, { value, bytes });
    owner.bytes += bytes;
    total += bytes;
    while (owner.bytes > maxBytes / 4) removeOldest(ownerName, owner);
    while (total > maxBytes) removeOldest(...(owners.entries().next().value as [string, Owner<Value>]));
  }

  function removeOldest(ownerName: string, owner: Owner<Value>): void {
    const [key, { bytes }] = owner.entries.entries().next().value as [string, Entry<Value>];
    owner.entries.delete(key);
    owner.bytes -= bytes;
    total -= bytes;
    if (owner.entries.size === 0) owners.delete(ownerName);
  }

  return {
    get(owner, key, load) {
      const found = find(owner, key);
      if (found !== undefined) return found.value;
      const name = `${owner} ${key}`;
      const pending = loading.get(name);
      if (pending !== undefined) return pending;
      const started = load()
        .then((value) => {
          keep(owner, key, value);
          return value;
        })
        .finally(() => loading.delete(name));
      loading.set(name, started);
      return started;
    },
  };
}

function moveToEnd<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key);
  map.set(key, value);
}
