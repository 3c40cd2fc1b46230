// Owns the list of ways, in the order in which they are tried.
import type { Way } from './way.ts';
import { bodyWays } from './ways/bodies.ts';
import { strangerWays } from './ways/strangers.ts';

export const ways: readonly Way[] = [...bodyWays, ...strangerWays];
