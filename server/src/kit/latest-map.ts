// Owns a map that can't grow without end.

/** Keeps the latest `max` entries. Setting an entry makes it the latest; the one that was set longest ago is dropped. */
export class LatestMap<Key, Value> extends Map<Key, Value> {
  readonly #max: number;

  constructor(max: number) {
    super();
    this.#max = max;
  }

  override set(key: Key, value: Value): this {
    this.delete(key);
    super.set(key, value);
    if (this.size > this.#max) {
      const [oldest] = this.keys();
      this.delete(oldest as Key);
    }
    return this;
  }
}
