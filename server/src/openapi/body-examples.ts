// Owns the examples of bodies that can't be put together from their fields: because some fields exclude each other, or
// because a whole says more than its parts.

/** By the name of the schema. */
export const bodyExamples: Readonly<Record<string, unknown>> = {};
