// Tests the catalogue as data: its shape, its patterns on hostile input, and the hosts that a connection can reach.
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { measureLeastCpuMs } from '../../../test/support/cpu.ts';
import { catalogue, findConnector } from './catalogue.ts';
import { createEndpoints } from './endpoints.ts';

const Descriptor = z.strictObject({
  name: z.string().regex(/^[a-z][a-z_]*$/),
  display_name: z.string().min(1),
  description: z.string().regex(/^[A-Z].*\.$/),
  placeholder: z.string().min(1),
  required: z.boolean(),
  validation_error: z.string().regex(/^must be .*[^.]$/),
  validation_pattern: z.string().regex(/^\^.*\$$/),
});

const fields = catalogue.flatMap(({ connection_config_fields, credential_fields }) => [
  ...connection_config_fields,
  ...credential_fields,
]);
const client = { clientId: 'id', clientSecret: 'secret' };
const endpoints = createEndpoints({
  clients: new Map(catalogue.map(({ integration_type }) => [integration_type, client])),
  gitlabHost: 'gitlab.com',
});

describe('the catalogue', () => {
  it('is sorted by type, and finds a type in any case', () => {
    const types = catalogue.map(({ integration_type }) => integration_type);
    expect(types).toEqual([...new Set(types)].sort());
    expect(findConnector('GitHub')?.integration_type).toBe('github');
    expect(findConnector('constructor')).toBeUndefined();
  });

  it('describes its fields as the API says', () => {
    for (const field of fields) expect(Descriptor.safeParse(field).error).toBeUndefined();
  });

  it('has either scopes and a client, or credentials and a request to check them', () => {
    for (const { oauth, credential_fields, checkPath, apiAuth, default_scopes } of catalogue) {
      const isWithKeys = oauth === null;
      expect(credential_fields.length > 0).toBe(isWithKeys);
      expect(checkPath !== undefined).toBe(isWithKeys);
      expect(apiAuth.kind === 'basic' || (apiAuth.kind === 'bearer' && apiAuth.credential !== undefined)).toBe(
        isWithKeys,
      );
      if (isWithKeys) expect(default_scopes).toEqual([]);
    }
  });
});

describe('the patterns of fields', () => {
  it.each(fields.map(({ name, placeholder, validation_pattern }) => ({ name, placeholder, validation_pattern })))(
    'of $name accept an example, and decide about 100 KB in less than 20 ms',
    ({ placeholder, validation_pattern }) => {
      const pattern = new RegExp(validation_pattern);
      if (/^[a-z-]+$/.test(placeholder)) expect(pattern.test(placeholder)).toBe(true);
      const hostile = ['a', 'a-', '-', 'A', 'AC0', 'SG.', 'SG.aaaaaaaaaaaaaaaa.', '.', '0', '\n', '\u{1f600}'].map(
        (part) => part.repeat(100_000 / part.length),
      );
      for (const text of hostile)
        for (const sent of [text, `${text}!`, `!${text}`]) {
          expect(measureLeastCpuMs(() => pattern.test(sent))).toBeLessThan(20);
        }
    },
  );

  it.each(['a\n', 'a.b', 'a/b', 'a@b', 'a:1', 'a#', 'a?', '-a', 'a-', '', 'ä', 'a'.repeat(64)])(
    'refuse %o as a part of a host name',
    (value) => {
      const labels = fields.filter(({ name }) => ['subdomain', 'my_domain', 'shop', 'site', 'company'].includes(name));
      expect(labels).toHaveLength(5);
      for (const { validation_pattern } of labels) expect(new RegExp(validation_pattern).test(value)).toBe(false);
    },
  );
});

describe('endpoints', () => {
  /** Values that the patterns accept, but that could reach other hosts if used outside a host name or path. */
  const values = { my_domain: 'evil', subdomain: 'evil', shop: 'evil', site: 'evil', company: 'evil', tenant: '..' };

  it.each(catalogue.map((connector) => ({ type: connector.integration_type, connector })))(
    'of $type are https addresses below a host of the service',
    ({ connector }) => {
      const of = endpoints.clientFor(connector, values, 'w');
      const all = [
        endpoints.apiBaseFor(connector, values),
        ...(of === undefined
          ? []
          : [
              of.issuer,
              of.authorizationEndpoint,
              of.tokenEndpoint,
              ...(of.revocationEndpoint ? [of.revocationEndpoint] : []),
            ]),
      ];
      const templates = [connector.apiBase, ...Object.values(connector.oauth ?? {})].filter(
        (text): text is string => typeof text === 'string' && text.startsWith('https:'),
      );
      const suffixes = new Set(templates.map((text) => suffixOf(text)));
      for (const address of all) {
        const { protocol, host, username, port } = new URL(address);
        expect({ protocol, username, port }).toEqual({ protocol: 'https:', username: '', port: '' });
        expect([...suffixes].some((suffix) => host === suffix || host.endsWith(`.${suffix}`))).toBe(true);
      }
      expect(of === undefined).toBe(connector.oauth === null);
    },
  );

  it('knows an authorization server by its exact name, or, where that varies, by its origin', () => {
    const github = findConnector('github');
    const outlook = findConnector('outlook');
    if (github === undefined || outlook === undefined) throw new Error('not in the catalogue');
    expect(endpoints.isIssuer(github, {}, 'https://github.com/login/oauth')).toBe(true);
    expect(endpoints.isIssuer(github, {}, 'https://github.com')).toBe(false);
    expect(endpoints.isIssuer(outlook, {}, 'https://login.microsoftonline.com/9188040d/v2.0')).toBe(true);
    expect(endpoints.isIssuer(outlook, {}, 'https://login.microsoftonline.com.evil.example/v2.0')).toBe(false);
    expect(endpoints.isIssuer(outlook, {}, 'x')).toBe(false);
  });
});

/** The part of a template's host that no user's value can change. `gitlab_host` is set by the operator. */
const suffixOf = (template: string): string =>
  template
    .replace('{gitlab_host}', 'gitlab.com')
    .replace(/^https:\/\/(\{\w+\}\.)?/, '')
    .replace(/[/?].*$/, '');
