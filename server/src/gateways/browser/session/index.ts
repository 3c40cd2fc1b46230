// Owns sessions in a real browser: opening them, one process each, and ending them. A browser that can't be opened is a return
// value, not an exception.
import type { BrowserSessions, SessionSettings } from './types.ts';

export type OpenBrowserSessions = (settings: SessionSettings) => BrowserSessions;
