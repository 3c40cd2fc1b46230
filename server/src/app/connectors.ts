// What commands need to know about connectors: where the services are whose clients the operator has registered.
import type { Config } from '../config.ts';
import { listTokenEndpoints } from '../features/connectors/index.ts';
import { toConnectorSettings } from './settings.ts';

export const listConnectorEndpoints = (config: Config): string[] => listTokenEndpoints(toConnectorSettings(config));
