// The list of attacks, in the order in which they run.
import type { Way } from './way.ts';
import { backgroundWays } from './ways/background.ts';
import { bodyWays } from './ways/bodies.ts';
import { queryWays } from './ways/queries.ts';
import { schemaWays } from './ways/schema-changes.ts';
import { strangerWays } from './ways/strangers.ts';

export const ways: readonly Way[] = [...bodyWays, ...queryWays, ...schemaWays, ...backgroundWays, ...strangerWays];
