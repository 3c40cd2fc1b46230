// Written by `npm run describe` from the migrated database. Not edited by hand.
import type { ColumnType, Generated, Kysely } from 'kysely';

// Documents are read as what they hold and written as JSON text.
type Json = ColumnType<unknown, string, string>;

export interface Tables {
  app_shares: {
    app_id: string;
    user_id: string;
    workspace_id: string;
    role: 'editor' | 'viewer';
    created_date: Date;
  };
  apps: {
    id: string;
    workspace_id: string;
    app_type: 'user_app' | 'user_agent' | 'imported_app';
    owner_id: string;
    name: string;
    slug: string;
    user_description: Generated<string>;
    logo_url: string | null;
    visibility: 'workspace' | 'private';
    public_settings: 'private_with_login' | 'workspace_with_login' | 'public_with_login' | 'public_without_login';
    public_origins: Generated<string[]>;
    hide_authorship: Generated<boolean>;
    revision: Generated<number>;
    created_date: Date;
    updated_date: Date;
    deleted_date: Date | null;
  };
  apps_in_folders: {
    workspace_id: string | null;
    folder_id: string | null;
    app_id: string | null;
    owner_id: string | null;
  };
  credentials: {
    id: string;
    kind: 'session' | 'personal_token' | 'personal_key' | 'workspace_key';
    hash: Buffer;
    pepper_id: string;
    last4: string;
    name: Generated<string>;
    user_id: string | null;
    workspace_id: string | null;
    permission: 'read_only' | 'full_access';
    app_ids: string[] | null;
    scopes: string[] | null;
    created_date: Date;
    expires_at: Date | null;
    last_used_at: Date | null;
    revoked_at: Date | null;
  };
  folder_items: {
    workspace_id: string;
    folder_id: string;
    app_id: string;
    owner_id: string | null;
    created_date: Date;
  };
  folders: {
    workspace_id: string;
    id: string;
    scope: 'workspace' | 'personal';
    owner_id: string | null;
    app_type: 'user_app' | 'user_agent';
    parent_folder_id: string | null;
    name: string;
    position: number;
    color: string | null;
    icon: string | null;
    created_date: Date;
    updated_date: Date;
  };
  idempotency_keys: {
    id: Buffer;
    request_hash: Buffer;
    status: number;
    body: Json;
    created_date: Date;
  };
  memberships: {
    workspace_id: string;
    user_id: string;
    role: 'owner' | 'admin' | 'editor' | 'viewer' | 'guest';
    access_state: Generated<'active' | 'blocked'>;
    created_date: Date;
    updated_date: Date;
  };
  users: {
    id: string;
    email: string;
    full_name: Generated<string>;
    is_operator: Generated<boolean>;
    created_date: Date;
    updated_date: Date;
  };
  workspaces: {
    id: string;
    name: string;
    plan: 'free' | 'builder' | 'pro' | 'business' | 'enterprise';
    rate_multiplier: number | null;
    country_code: Generated<string>;
    locale: Generated<string>;
    created_date: Date;
    updated_date: Date;
    deleted_date: Date | null;
  };
}

export type Db = Kysely<Tables>;
