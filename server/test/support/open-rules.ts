// The search for open rules, which app.ts passes to security scans, for their tests.
export { findOpenRules } from '../../src/features/entities/schemas/open-rules.ts';
