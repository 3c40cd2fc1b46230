#!/usr/bin/env node
// Starts plinthctl. The version is printed without loading anything else.
import pkg from '../package.json' with { type: 'json' };

// `npm run` starts programs in the folder of the package. Paths and plinth.json mean the reader's own folder.
if (process.env.npm_lifecycle_event === 'plinthctl' && process.env.INIT_CWD) process.chdir(process.env.INIT_CWD);

const argv = process.argv.slice(2);
if (argv.length === 1 && (argv[0] === '--version' || argv[0] === '-V')) console.log(pkg.version);
else process.exitCode = await (await import('./run.ts')).run(argv, pkg.version);
