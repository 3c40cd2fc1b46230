-- module: workflows
-- transaction: none
-- Reads all steps, so that attaching them need not.
alter table workflow_steps validate constraint workflow_steps_until_partitioned;
