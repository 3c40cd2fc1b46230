// Owns how much faster time passes for the processes of the drill.
export const speed = 10;
