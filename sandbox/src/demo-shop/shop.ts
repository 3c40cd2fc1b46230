// The demo shop, a small web app for browser tests: its published files, its entity schemas with rules, and its initial
// records. A variant is the shop with one passage of a file or schema replaced.
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('.', import.meta.url));

/** Replaces one passage in one of the shop's files. */
export interface Patch {
  /** A path such as `public/app.js` or `entities/Order.json`. */
  readonly file: string;
  readonly old_text: string;
  readonly new_text: string;
}

export interface Shop {
  /** The file contents, keyed by path within the app. */
  readonly files: ReadonlyMap<string, string>;
  readonly schemas: readonly { readonly name: string }[];
}

/** Throws if a patch does not match exactly one passage. */
export function readShop(patches: readonly Patch[] = []): Shop {
  const texts = new Map(['public', 'entities'].flatMap(readFolder));
  for (const { file, old_text, new_text } of patches) {
    const parts = (texts.get(file) ?? '').split(old_text);
    if (parts.length !== 2) throw new Error(`${file} has ${parts.length - 1} passages: ${old_text}`);
    texts.set(file, parts.join(new_text));
  }
  const below = (name: string) => [...texts].filter(([path]) => path.startsWith(`${name}/`));
  return { files: new Map(below('public')), schemas: below('entities').map(([, text]) => JSON.parse(text)) };
}

const readFolder = (name: string): [string, string][] =>
  readdirSync(folder + name).map((file) => [`${name}/${file}`, readFileSync(`${folder}${name}/${file}`, 'utf8')]);

const products = [
  { name: 'Apple cake', price_cents: 1295 },
  { name: 'Coffee beans', price_cents: 850 },
  { name: 'Croissant', price_cents: 135 },
  { name: 'Rye bread', price_cents: 420 },
];

/** The owner's orders, which the shop's users must not see. */
export const ordersOfTheOwner = [
  {
    customer: 'Olive Oldham',
    email: 'olive@customers.example',
    due: '2026-12-01',
    items: [{ product: 'Apple cake', quantity: 1, price_cents: 1295 }],
    paid: true,
  },
  {
    customer: 'Oscar Ortega',
    email: 'oscar@customers.example',
    due: '2026-12-02',
    items: [{ product: 'Rye bread', quantity: 2, price_cents: 420 }],
  },
];

/** Calls the API as an app manager and returns the response body. Throws on an error response. */
export type Manage = (method: string, path: string, body?: object) => Promise<unknown>;

/** Creates the app with its entities and records, and publishes it. */
export async function publishShop(manage: Manage, shop: Shop = readShop(), name = 'Corner Bakery'): Promise<string> {
  const { id } = (await manage('POST', '/api/apps', { name })) as { id: string };
  await saveSchemas(manage, id, shop);
  await manage('POST', `/api/apps/${id}/entities/Product/bulk`, products);
  await manage('POST', `/api/apps/${id}/entities/Order/bulk`, ordersOfTheOwner);
  await publishFiles(manage, id, shop);
  return id;
}

/** Publishes this shop in an app that already has one. The app's records are kept. */
export async function republishShop(manage: Manage, id: string, shop: Shop): Promise<void> {
  await saveSchemas(manage, id, shop);
  await publishFiles(manage, id, shop);
}

const saveSchemas = (manage: Manage, id: string, { schemas }: Shop): Promise<unknown> =>
  manage('PUT', `/api/apps/${id}/entity-schemas`, { schemas });

async function publishFiles(manage: Manage, id: string, shop: Shop): Promise<void> {
  const files = [...shop.files].map(([path, content]) => ({ path, content }));
  await manage('PUT', `/api/apps/${id}/files`, { files });
  await manage('POST', `/api/apps/${id}/deploy`, {});
}
