// The error for a worker that has lost its claim on a turn.

/**
 * Thrown if the turn has ended or another worker runs it. A worker that gets this error must not write anything else.
 */
export class ClaimLost extends Error {}
