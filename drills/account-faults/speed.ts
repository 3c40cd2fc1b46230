// The factor by which time runs faster in the drill's processes.
export const speed = 10;
