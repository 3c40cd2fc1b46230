// Gathers: items that arrive while a batch is being handled form the next batch. At a high rate, this saves most
// of the work, because items share statements and commits. At a low rate, each item is handled immediately.

export interface Gathering<Item> {
  /** Must not throw, because nothing awaits it. Must report each item's result to the item's caller. */
  handle(items: readonly Item[]): Promise<void>;
  /** Returns how many waiting items the next batch takes, at least 1. */
  countFitting(waiting: readonly Item[]): number;
}

/** Returns the function that adds an item. */
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
