// All audit chains of the installation, for commands.
export { listWholeChains, verifyAllChains } from '../features/audit/index.ts';
