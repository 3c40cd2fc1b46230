// The events to send. They come from sessions with five actions per user, each with an id, a page and three
// properties.
import { randomUUID } from 'node:crypto';

export const batchSize = 500;
const eventsPerSession = 5;
const names = ['page_view', 'search', 'add_to_cart', 'checkout', 'order_placed'];

export interface BenchEvent {
  readonly event_name: string;
  readonly event_id: string;
  readonly timestamp: string;
  readonly user_id: string;
  readonly session_id: string;
  readonly page_url: string;
  readonly properties: Readonly<Record<string, string | number | boolean>>;
}

/** Creates one request's events, from users that `nextUser` chooses. */
export function makeBatch(nextUser: () => string): BenchEvent[] {
  const timestamp = new Date().toISOString();
  return Array.from({ length: batchSize / eventsPerSession }, () => {
    const user_id = nextUser();
    const session_id = randomUUID();
    return names.map((event_name, n) => ({
      event_name,
      event_id: randomUUID(),
      timestamp,
      user_id,
      session_id,
      page_url: `https://shop.example/products/${n}`,
      properties: { total: n * 12.5, currency: 'EUR', is_new: n % 2 === 0 },
    }));
  }).flat();
}

export const randomUser = (users: number) => () => `user-${Math.floor(Math.random() * users)}`;
