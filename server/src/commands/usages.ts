// The usage texts of commands with arguments. This file imports nothing, so commands can be listed without loading
// them.
export const migrateUsage = 'migrate [--status | --dry-run | --skip-locations] [--wait SECONDS]';
export const adsUsage = 'ads report';
export const geoUsage = 'geo import FILE';
export const bootstrapUsage = 'bootstrap --email EMAIL --name NAME --workspace NAME [--wait SECONDS]';
export const setupUsage = 'setup FOLDER [--base-url URL] [--apps-domain DOMAIN] [--systemd [--create-database]]';
export const importUsage = 'import ARCHIVE [--keep-plan] [--skip-audit-log] [--any-size]';
export const workspaceUsage = 'workspace restore --id ID';
export const queuesUsage = `queues list [--json]
       plinth queues show QUEUE [ID] [--state due|running|delayed|failed] [--owner ID] [--limit 50] [--json]
       plinth queues retry QUEUE ID… | --failed [--owner ID] [--since TIME]
       plinth queues cancel QUEUE ID… | --owner ID --reason TEXT
       plinth queues pause QUEUE [--owner ID] --for 1h
       plinth queues resume QUEUE [--owner ID]`;
export const healthUsage = 'health [--worker] [--wait SECONDS]';
export const keysUsage = 'keys new | keys forget MASTER_KEYS|TOKEN_PEPPERS ID | keys unlock FILE';
export const backupUsage = `backup DIR [--keep N] [--keys FILE] [--skip-objects] [--allow-missing]
       plinth backup --verify DIR|BACKUP`;
export const restoreUsage = 'restore BACKUP [--keys FILE]';
export const doctorUsage = 'doctor [--json] [--model]';
export const devUsage = 'dev [--no-sandbox] [--console]';
