// `plinthctl api`: a request to any path.
import type { Define } from '../cli.ts';
import { readOperations } from '../describe.ts';
import { parseJson, readValue } from '../values.ts';

interface ApiOptions {
  readonly body?: string;
  readonly idempotencyKey?: string;
}

export const define: Define = (command, cli) => {
  command
    .argument('<method>', 'GET, POST, PUT, PATCH or DELETE')
    .argument('<path>', 'such as "/api/apps?limit=5"')
    .option('--body <json>', 'the body: JSON, @file, or - for stdin')
    .option('--idempotency-key <key>', 'a value that you choose once per intended effect')
    .action(async (method: string, path: string, { body, idempotencyKey }: ApiOptions) => {
      const verb = method.toUpperCase();
      await confirmEffect(verb, path);
      const { plinth } = await cli.connect();
      const value = body === undefined ? undefined : parseJson(await readValue(body), '--body');
      const options = { signal: cli.signal, ...(idempotencyKey !== undefined && { idempotencyKey }) };
      const { data, headers } = await plinth.request(verb, path, value, options).answer();
      const type = headers.get('content-type') ?? '';
      if (!/^application\/json\b/.test(type)) return cli.output.raw(data);
      await cli.output.show(JSON.parse(new TextDecoder().decode(data)));
    });

  async function confirmEffect(method: string, path: string): Promise<void> {
    const [place = ''] = path.split('?');
    const known = Object.values(await readOperations()).find(({ route }) => {
      const [verb, template = ''] = route.split(' ');
      return verb === method && new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(place);
    });
    if (known?.effect === 'remove' || known?.effect === 'spend' || (known === undefined && method === 'DELETE'))
      await cli.prompts.confirm(`${method} ${place}: ${known?.summary ?? 'removes something'}.`);
  }
};
