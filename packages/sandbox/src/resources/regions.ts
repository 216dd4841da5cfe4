export const defaultRegion = 'aws-us-east-2';

export const regions = [
  ['aws-us-east-1', 'AWS US East 1 (N. Virginia)', '38.13', '-78.45'],
  ['aws-us-east-2', 'AWS US East 2 (Ohio)', '39.96', '-83'],
  ['aws-eu-central-1', 'AWS Europe Central 1 (Frankfurt)', '50.11', '8.68'],
  ['aws-ap-southeast-1', 'AWS Asia Pacific 1 (Singapore)', '1.37', '103.8'],
  ['azure-westus3', 'Azure West US 3 (Arizona)', '33.45', '-112.07'],
].map(([region_id = '', name, geo_lat, geo_long]) => ({
  region_id,
  name,
  default: region_id === defaultRegion,
  geo_lat,
  geo_long,
}));
