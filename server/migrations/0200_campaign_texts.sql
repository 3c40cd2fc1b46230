-- module: credits
-- Texts that the launch of a campaign leaves to the language model are free, and counted like other unpaid work.
alter table unpaid_model_work drop constraint unpaid_model_work_kind_check;
alter table unpaid_model_work add constraint unpaid_model_work_kind_check
  check (kind in ('explanation', 'test_run', 'suggestion', 'campaign_text'));
