"""kube-scheduler's listener: filter, prioritize, bind."""
