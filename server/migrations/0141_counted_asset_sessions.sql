-- module: ads
-- A request for texts and images is counted as unpaid work of the model when it begins. The count is taken back when the
-- session is charged, or fails before the model was asked.
alter table ads_asset_sessions
  -- When this request was counted. Null for sessions from before this migration.
  add counted_at timestamptz,
  -- Whether this request has called the language model, in any of its claims.
  add has_called_model boolean not null default false;
