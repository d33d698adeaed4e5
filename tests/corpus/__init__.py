"""``make corpus DIR=…``: a folder of BPMN files checked, deployed and played end to end."""
