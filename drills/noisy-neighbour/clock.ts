// Owns the clock of the drill: monotonic, and the same in every process of this machine.

export const nowMs = (): number => Number(process.hrtime.bigint()) / 1e6;
