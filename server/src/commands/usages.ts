// Owns how the commands with arguments are called. It imports nothing, so that the list of commands loads none of them.
export const migrateUsage = 'migrate [--status | --dry-run | --skip-locations]';
export const adsUsage = 'ads report';
export const geoUsage = 'geo import FILE';
export const bootstrapUsage = 'bootstrap --email EMAIL --name NAME --workspace NAME';
export const importUsage = 'import ARCHIVE [--keep-plan] [--skip-audit-log] [--any-size]';
export const workspaceUsage = 'workspace restore --id ID';
export const keysUsage = 'keys new';
export const devUsage = 'dev [--no-sandbox]';
