// What features may tell each other: the names of events and what each carries, frozen as a receiver will see it.
export type Events = Record<never, object>;
