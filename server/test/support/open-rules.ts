// Exports the open rules search, which app/features.ts passes to security scans, for the scans' own tests.
export { findOpenRules } from '../../src/features/entities/schemas/open-rules.ts';
