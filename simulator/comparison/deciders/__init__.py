"""Our policies and the papers', as schedulers of the cluster model."""
