// A cache that is limited in bytes and shared by several owners. No owner can use more than a quarter of it, so an
// owner with many entries does not evict all other entries. When the cache is full, entries of the least recently used
// owner are evicted, starting with the least recently used entry.

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
   * Returns the cached value, or a promise for the result of `load`. Callers that request a value while it is loading
   * share the load. Failed loads are not cached.
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
