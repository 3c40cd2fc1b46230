// The drill's clock, which is monotonic and the same in every process on this machine.

export const nowMs = (): number => Number(process.hrtime.bigint()) / 1e6;
