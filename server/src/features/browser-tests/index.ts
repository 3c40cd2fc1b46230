// Entry point of browser tests: flows of apps, which an agent runs in a real browser, their runs and reports.
export { browserTestArchiveTables } from './archive-rows.ts';
