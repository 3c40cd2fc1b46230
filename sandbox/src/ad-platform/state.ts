// The ad platform's state: resources by name, in the REST protocol's JSON format. Changes are collected in a draft
// and applied together or not at all.

/** A resource's JSON fields. Fields that begin with `_` belong to the sandbox and are never returned. */
export type Resource = Record<string, unknown> & { resourceName: string };

export interface Resources {
  get(name: string): Resource | undefined;
  /** Lists an account's resources in one collection, such as `campaigns` in `1001`. */
  list(customerId: string, collection: string): Resource[];
}

export interface Draft extends Resources {
  put(resource: Resource): void;
  remove(name: string): void;
  newId(): string;
  /** The new and changed resources by name. Null if the resource was removed. */
  readonly changes: ReadonlyMap<string, Resource | null>;
}

export interface State extends Resources {
  /** Lists all accounts, including the manager. */
  listCustomers(): Resource[];
  draft(): Draft;
  apply(changes: Iterable<readonly [string, Resource | null]>): void;
}

const firstId = 1_000_000_001;

export function createState(): State {
  const all = new Map<string, Resource>();
  const collections = new Map<string, Map<string, Resource>>();
  let lastId = firstId;

  const list = (customerId: string, collection: string) => [
    ...(collections.get(`customers/${customerId}/${collection}`)?.values() ?? []),
  ];
  return {
    get: (name) => all.get(name),
    list,
    listCustomers: () => [...(collections.get('customers')?.values() ?? [])],
    draft() {
      const changes = new Map<string, Resource | null>();
      const current = (name: string) => (changes.has(name) ? (changes.get(name) ?? undefined) : all.get(name));
      return {
        changes,
        get: current,
        list(customerId, collection) {
          const prefix = `customers/${customerId}/${collection}/`;
          const known = list(customerId, collection).flatMap(({ resourceName }) => current(resourceName) ?? []);
          const added = [...changes].flatMap(([name, resource]) =>
            resource !== null && name.startsWith(prefix) && !all.has(name) ? resource : [],
          );
          return [...known, ...added];
        },
        put: (resource) => void changes.set(resource.resourceName, resource),
        remove: (name) => void changes.set(name, null),
        newId: () => {
          lastId += 1;
          return String(lastId);
        },
      };
    },
    apply(changes) {
      for (const [name, resource] of changes) {
        const collection = name.slice(0, name.lastIndexOf('/'));
        const members = collections.get(collection) ?? new Map<string, Resource>();
        collections.set(collection, members);
        if (resource === null) {
          all.delete(name);
          members.delete(name);
        } else {
          all.set(name, resource);
          members.set(name, resource);
        }
        // Keeps new ids unique after a restart.
        for (const id of name.match(/\d+/g) ?? []) if (Number(id) < 1e12) lastId = Math.max(lastId, Number(id));
      }
    },
  };
}
