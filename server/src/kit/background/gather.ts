// Owns gathering: items that come while others are being handled are handled together afterwards. At a high rate, one statement or
// commit per item would be most of the work; at a low rate, each item is handled at once.

export interface Gathering<Item> {
  /** Must not throw: nobody waits for it. It tells those who wait for its items. */
  handle(items: readonly Item[]): Promise<void>;
  /** How many of the first items to handle together; at least 1. */
  countFitting(waiting: readonly Item[]): number;
}

/** Returns a function that adds an item. */
export function gather<Item>({ handle, countFitting }: Gathering<Item>): (item: Item) => void {
  let waiting: Item[] = [];
  let isHandling = false;
  const handleWaiting = async () => {
    isHandling = true;
    while (waiting.length > 0) {
      const items = waiting.slice(0, countFitting(waiting));
      waiting = waiting.slice(items.length);
      await handle(items);
    }
    isHandling = false;
  };
  return (item) => {
    waiting.push(item);
    if (!isHandling) void handleWaiting();
  };
}
