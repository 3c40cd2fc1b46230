// Runs Plinth's own API as a single process.
import { createApp } from '../server/src/app.ts';
import { readConfig } from '../server/src/config.ts';
import { readMigrations } from '../server/src/kit/db/migrate.ts';
import { migrationsFolder } from '../server/src/release.ts';

const app = createApp(readConfig(), { migrations: await readMigrations(migrationsFolder) });
await app.server.listen({ port: 0, host: '127.0.0.1' });
const address = app.server.server.address();
console.log(`listening ${typeof address === 'object' ? address?.port : ''}`);
process.on('SIGTERM', () => process.exit(0));
