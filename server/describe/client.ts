// Writes the generated part of the client (client/sdk/src/generated) from the OpenAPI document and the list of error codes.
import { type Document, listOperations } from './client/document.ts';
import { describeOperations } from './client/operations.ts';
import { type DescribedErrors, describeCodes, describeForPeople, describeTable } from './client/table.ts';
import { describeSchemas } from './client/types.ts';

const folder = 'client/sdk/src/generated';

/** Returns the files by their path. */
export function describeClient(openapi: object, errors: DescribedErrors): Record<string, string> {
  const document = openapi as Document;
  const operations = listOperations(document);
  return {
    [`${folder}/schemas.ts`]: describeSchemas(document),
    [`${folder}/operations.ts`]: describeOperations(operations),
    [`${folder}/table.ts`]: describeTable(document, operations),
    [`${folder}/codes.ts`]: describeCodes(document),
    [`${folder}/describe.json`]: describeForPeople(document, operations, errors),
  };
}
